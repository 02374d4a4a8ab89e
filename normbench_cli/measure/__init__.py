"""Measurements of layers and models: time, memory, solver statistics, probes.  torch only, never the database.

timing.py      contenders timed in interleaved rounds; ratios with bootstrap intervals
workloads.py   a layer alone as something to be timed
memory.py      bytes that autograd saves for the backward pass
solver.py      metrics of layers with a solver or a learned phi, from what `norms/protocols.py` lets them offer
probes.py      norms of weights, a channel of a batch norm, drift of running statistics, the gap between modes
"""
