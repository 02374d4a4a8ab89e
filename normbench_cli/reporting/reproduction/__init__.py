"""The verdict on suites: published numbers beside ours, and the papers' claims.

cells.py      what the runs of each cell measured, without a look at the published numbers
compare.py    a measured cell against the published one
figures.py    the curves of suites that are figures
records.py    the numbers for CSV, JSON and parquet
document.py   all of it as a `Document`
"""
