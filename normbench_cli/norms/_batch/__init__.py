"""What the layers that normalize data have in common.

    layout.py                input of any shape as "columns", one per channel, and back
    reduce.py                sums over a channel that are fast compiled and uncompiled; moments; normalization about a
                             point
    running.py               `RunningStatsNorm`: running statistics for evaluation, the base of augnorm, mediannorm and
                             popnorm
    processes.py             sums over the processes of training; the base of layers that can share statistics
    synced.py                means, extremes and normalization over processes; selection.py: exact order statistics
    group.py                 the number of groups; `GroupNormBase`, the base of groupnorm, layernorm, instancenorm
    popnorm_kernels.py       popnorm's default form, forward and backward
    median_kernels.py        mediannorm in training, forward and backward
    batch_norm_operators.py  the operators of torch's own batch norm, where they are correct

Shapes: a layer takes x (N, C, ...).  `to_columns` makes it flat, (values, C) or (N, C, values), channels second in
either case.  Per-channel values (mean, variance, gamma, beta, scale) are (C), and `per_channel` makes them broadcast
over flat data.

A kernel is a function of flat tensors that inductor compiles for large inputs (`norms/_compile.py`) and runs as written
for small ones.  It uses `chunks`, `channel_sum` and `materialize` for speed: they change no result beyond rounding, and
the order of summation depends on the shape alone.
"""
