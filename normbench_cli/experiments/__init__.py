"""The use cases, shared by the commands and by Python callers.

A use case takes checked values and a `Store`, reports what it does through one callback (`on_event`), returns a result
and prints nothing.  The functions of ``import normbench_cli as nb`` are defined here too and open the store themselves.

    plan.py         plan_grid: the cells of a grid and their records, before anything is launched
    grid.py         train, run_grid: train the cells that are due
    train.py        train_run, resume_run: one run, recorded as it goes; checkpoints.py saves its checkpoints
    evaluate.py     evaluate, evaluate_runs: score checkpoints again, clean, attacked, corrupted, pruned
                    pruning.py: which channels are pruned; pruned.py: the scores without them
    profile.py      profile, plan_profile, run_profile: time and memory of norms; implemented in profiling/
    dry_run.py      dry_run: what a run would train and cost; norm_layers.py lists the norm layers of a model
    load_model.py   load_model: a trained network; trained.py reads it from its checkpoint
    query.py        runs, metrics: the records as DataFrames
    reproduce.py    plan_reproduction, run_plan: what a suite needs and what is left to run, then running it
                    jobs.py, chosen_scale.py: what is recorded; estimates.py, sizing.py: how long it takes;
                    run_jobs.py, data_facts.py: the work
    executors/      run_works: cells run by processes, a Ray cluster or SLURM
    distributed/    one run trained by several processes
    delete.py       delete_runs
    identity.py     fingerprints: settings, data, source of external components
    details.py      data, sources and GPU state recorded with a run; checkout_diff.py has the uncommitted changes
    same_data.py    whether a run's data set is still the one it was trained on
    lifecycle.py    a run begins, sends heartbeats and ends, whatever happens
    recorded.py     recorded_config: a row as a configuration, which loads only packages that the user allows
    result.py       RunResult and the JSON form of a run
    events.py       the events passed to `on_event`
    environment.py  the facts about code and machine that are recorded with a run
    doctor.py       what works on this machine
"""
