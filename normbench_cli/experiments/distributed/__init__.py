"""One run trained by several processes.

    rank.py       the rank of this process, where torchrun or SLURM started it
    workers.py    the other processes, where this one starts them on the same machine
    worker.py     the main function of such a process
    task.py       what rank 0 sends to the other ranks, and how they follow it
    rank_zero.py  `as_rank_zero`: the training as rank 0 sees it, which alone records and saves

Rank 0 trains as a single process does.  The other ranks receive its configuration and state, take the same steps
without a database, and end with it.
"""
