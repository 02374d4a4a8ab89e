"""One run trained by several processes.

    rank.py       which of them this process is, where torchrun or SLURM started them
    workers.py    the other processes, where this one starts them, on the same machine
    worker.py     what such a process does
    task.py       what rank 0 gives to the others, and what they do with it
    rank_zero.py  `as_rank_zero`: the part of rank 0, which alone records and saves

Rank 0 trains as a single process does.  The others get its configuration and its state, train along without a database,
and end with it.
"""
