"""Measurements of layers and models: time, memory, solver statistics, probes.  torch only, never the database.

timing.py      contenders timed in interleaved rounds
ratios.py      the ratio of two contenders with its interval; outliers
calibration.py a fixed piece of work; steadiness.py times it around the rounds: how steady was the machine?
cases.py       one way to measure a layer: shape, type, memory format, call, pass
contenders.py  how anybody's layer is called; workloads.py makes it something to be timed
bytes_moved.py what a layer must move; bandwidth.py how fast the machine can
memory.py      bytes that autograd saves for the backward pass
resident.py    peak memory of a piece of work; peak.py asks for it in a process of its own, peak_worker.py answers
start.py       warm and cold starts of solvers
failures.py    out of memory, or an error of the layer
norm_shapes.py the shapes with which a model calls its norms; norm_inputs.py also the values
solver.py      metrics of layers with a solver or a learned phi, from what `norms/protocols.py` lets them offer
exact_median.py what solvers are measured against; data_families.py the data on which they are
trace.py       a trace of torch's profiler in which layers have names
probes.py      norms of weights, a channel of a batch norm, drift of running statistics, the gap between modes
"""
