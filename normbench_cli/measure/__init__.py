"""Measurements of layers and models: time, memory, solver statistics, probes.  torch only, never the database.

timing.py      contenders timed in interleaved rounds
ratios.py      the ratio of two contenders with its interval; outliers
calibration.py a fixed workload; steadiness.py times it around the rounds to check how steady the machine is
cases.py       one way to measure a layer: shape, type, memory format, call, pass
contenders.py  how a layer from any library is called; workloads.py turns it into a timed workload
bytes_moved.py memory traffic that a layer needs; bandwidth.py the machine's memory bandwidth
memory.py      bytes that autograd saves for the backward pass
resident.py    peak memory of a workload; peak.py measures it in a separate process, which runs peak_worker.py
start.py       warm and cold starts of solvers
failures.py    out of memory, or an error of the layer
norm_shapes.py input shapes of a model's norms; norm_inputs.py their values too
solver.py      metrics of layers with a solver or a learned phi, through the interfaces of `norms/protocols.py`
exact_median.py the reference for solvers; data_families.py their test data
trace.py       torch profiler traces in which layers have names
probes.py      norms of weights, a channel of a batch norm, drift of running statistics, the gap between modes
pruning.py     channels of a trained network ranked by gamma and beta, and set to zero
"""
