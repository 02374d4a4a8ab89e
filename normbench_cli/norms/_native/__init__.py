"""C++ kernels for CPUs: compiled once per machine, for any shape, and cached beside inductor's.

vector.h     vectors of float32 and quick functions of them
layout.h     columns as panels and groups of panels; sums and maps over them
search.h     the search for a median, between its passes over the data
forward.h, backward.h, columns.cpp    the passes of `augnorm` and `diffphi`
standardize.h, standardize.py    those of `popnorm`
graphs.h, graphs.cpp, graphs.py  those of `auggraphnorm`
library.py   compiles and loads them
columns.py   calls those of `columns.cpp` with tensors
"""
