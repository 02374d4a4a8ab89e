"""The verdict on suites: published numbers beside ours, and the papers' claims.

cells.py       what the runs of each cell measured, independent of the published numbers
wide.py        a suite without published numbers as a wide table
compare.py     a measured cell against the published one
figures.py     the curves of suites that are figures
along.py       figures of a suite's numbers against a setting
scores.py, answers.py, questions.py
               a suite's question: the compared values, the answers, their sentence, table and figures
protocol.py    deviations from the papers' protocol, and why
run_times.py   how long the recorded runs took
missing_runs.py  which runs of the papers' protocol are missing, and the hours that they take
records.py     the numbers for CSV, JSON and parquet
document.py    everything as a `Document`
"""
