"""How a profile is made: the use case behind `normbench profile`, called through `experiments/profile.py`.

plan.py        what is asked for, checked: contenders, cases, how long
presets.py     the shapes with which well-known networks call their norms, with counts
shapes_of.py   the same of any model, found by running it
roofline.py    the bandwidth of this machine, measured once and kept in the home
workloads.py   contenders as something to be timed; those that cannot be made have a status
measure.py     one case: its contenders timed against each other
record.py      what goes to the database
results.py     the rows of the JSON output; totals.py: sums over the layers of a network
run.py         all of it in order
"""
