"""Kernels in C++ for a CPU: compiled once on a machine, for any shape, and kept beside inductor's.

vector.h     vectors of float32 and quick functions of them
layout.h     columns as panels and groups of panels; sums and maps over them
search.h     the search for a median, between its passes over the data
forward.h, backward.h, columns.cpp    the passes of `augnorm` and `diffphi`
standardize.h, standardize.py    those of `popnorm`
graphs.h, graphs.cpp, graphs.py  those of `auggraphnorm`
library.py   compiles and loads them
columns.py   calls the first with tensors
"""
