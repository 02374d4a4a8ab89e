"""Cells run by workers: other processes, the nodes of a Ray cluster, jobs of SLURM.

A command or `nb.train` makes a `Choice` of the executor, and a `Work` for each cell: its configuration and how it is
run.  `run_works` gives them to the executor, hears what becomes of them, and submits what was lost with its worker
again; the worker then goes on from the run's last checkpoint.  What runs measure goes through the database, as ever.

    choice.py        Choice, PerRun: which executor, what a run takes; open_executor
    protocol.py      Work, Task, Outcome, what happens to a task; Executor
    launch.py        run_works: from works to results
    watch.py         how far the cells are, read from the database
    worker.py        run_task: what a worker does with a task, in any process on any machine
    surroundings.py  what it needs to be the same there: home, data, folder, command
    local.py         processes of this machine; local_worker.py is what such a process executes, preparation.py what it
                     does before its first task is there
    ray.py           tasks of a Ray cluster
    submitit.py      jobs of SLURM
"""
