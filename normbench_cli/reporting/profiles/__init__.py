"""Comparisons of recorded profiles.

recorded.py   which runs were measured together, when, where and with what; the samples of a cell
calibrated.py the ratio of two cells of different profiles, corrected for the machine's speed
compare.py    `profile --compare RUN`: this profile and an earlier one, cell by cell
differences.py  what else differs between the two
cells.py      the cells of a profile's tables, on the terminal and in documents
across.py     `report --kind profile`: one row per cell, one column per date, host or version;
              across_document.py its table and plots
solver.py     `profile --solver`: the error of the solvers against passes over the data and time
"""
