"""Cells run by workers: other processes, the nodes of a Ray cluster, jobs of SLURM.

A command or `nb.train` makes a `Choice` of the executor, and a `Work` for each cell: its configuration and how it is
run.  `run_works` submits them to the executor, follows them, and submits a cell again if its worker is lost; the next
worker continues the run from its last checkpoint.  Measurements are written to the database by the worker.

    choice.py        Choice, PerRun: which executor, the resources of a run; open_executor
    protocol.py      Work, Task, Outcome, the events of a task; Executor
    launch.py        run_works: from works to results
    watch.py         the progress of the cells, read from the database
    worker.py        run_task: what a worker does with a task, in any process on any machine
    surroundings.py  what must be the same in every worker: home, data, folder, command
    local.py         processes of this machine; local_worker.py is what such a process executes, preparation.py what it
                     does before its first task is there
    ray.py           tasks of a Ray cluster
    submitit.py      jobs of SLURM
"""
