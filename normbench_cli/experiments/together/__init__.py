"""One run trained by several processes.

    place.py     which of them this process is, where torchrun or SLURM started them
    helpers.py   the other processes, where this one starts them, on the same machine
    helper.py    what such a process does
    task.py      what the first process gives to the others, and what they do with it
    lead.py      `leading`: the part of the first process, which alone records and saves

The first process trains as a single one does.  The others get its configuration and its state, train along without a
database, and end with it.
"""
