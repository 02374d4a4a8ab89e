"""Cells run by workers: other processes, the nodes of a Ray cluster, SLURM jobs.

A command or `nb.train` creates a `Choice` of the executor, and a `Work` for each cell: its configuration and how it is
run.  `run_works` submits them to the executor, follows them, and resubmits a cell if its worker is lost; the next
worker continues the run from its last checkpoint.  Workers write the measurements to the database.

    choice.py        Choice, PerRun: which executor, the resources of a run; open_executor
    protocol.py      Work, Task, Outcome, the events of a task; Executor
    launch.py        run_works: from works to results
    watch.py         the progress of the cells, read from the database
    worker.py        run_task: runs a task in a worker, in any process on any machine
    worker_environment.py  what must be the same in every worker: home, data, folder, command
    local.py         processes on this machine; local_worker.py is the main function of such a process, preparation.py
                     what it does before its first task arrives
    ray.py           tasks of a Ray cluster
    submitit.py      SLURM jobs
"""
