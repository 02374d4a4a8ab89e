"""How a profile is made: the use case behind `normbench profile`, called through `experiments/profile.py`.

plan.py        what is asked for, checked: contenders, cases, how long
presets.py     the shapes with which well-known networks call their norms, with counts
shapes_of.py   the same of any model, found by running it
activations.py the values that a trained network's norms see, recorded from a run
sweep.py       a plan for each value of a batch size, width or size; sweep_values.py reads the values
steps.py       steps of models, and places: where contenders are compared; step_worker.py measures their memory
own_cost.py    the norm's own share of a step, examples a second
roofline.py    the bandwidth of this machine, measured once and kept in the home
workloads.py   contenders as something to be timed; those that cannot be made have a status
measure.py     one case: its contenders timed against each other
record.py      what goes to the database
results.py     the rows of the JSON output; totals.py: sums over the layers of a network
run.py         all of it in order
solver.py      `--solver`: the error of a search against passes and time; solver_rows.py its results
trace.py       `--trace`: one step with the norm layers named
"""
