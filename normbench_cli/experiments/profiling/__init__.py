"""The implementation of `normbench profile`, called through `experiments/profile.py`.

plan.py        the checked request: contenders, cases, time limit
shapes.py      the input shapes of layers by default
presets.py     the input shapes of the norms in well-known networks, with counts
shapes_of.py   the same for any model, found by running it
activations.py the inputs of a trained network's norms, captured from a run
sweep.py       a plan for each value of a batch size, width or size; sweep_values.py parses the values
steps.py       steps of models, and places: where contenders are compared; step_worker.py measures their memory
own_cost.py    the norm's own share of a step, examples per second
roofline.py    the bandwidth of this machine, measured once and cached in the home folder
workloads.py   contenders as timed workloads; those that cannot be created have a status
measure.py     one case: its contenders timed against each other
record.py      writes to the database
results.py     the rows of the JSON output; totals.py: sums over the layers of a network
run.py         a whole profile
solver.py      `--solver`: the error of the solvers against passes and time; solver_rows.py has its results
trace.py       `--trace`: one step with the norm layers named
"""
