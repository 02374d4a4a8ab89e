"""One run trained by several processes.

    rank.py       the rank of this process, if torchrun or SLURM started it
    workers.py    the other processes, if this one starts them on the same machine
    worker.py     the main function of such a process
    task.py       what rank 0 sends to the other ranks, and how they follow it
    rank_zero.py  `as_rank_zero`: the `Training` of rank 0, which alone records and saves

Rank 0 trains like a single process.  The other ranks receive its configuration and state, take the same steps without
a database, and end with it.
"""
