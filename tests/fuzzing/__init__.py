"""Hostile input of every kind, drawn from a seed, and the rules that a command keeps to whatever it is given.

A `Case` is a kind and a seed, and the same case is always the same input: a random command line, a damaged suite
file, a spec, a filter, a damaged database, an odd surrounding (`kinds`).  `Sandbox.try_case` makes it, runs its
commands in this process as the program would, and gives the rules of the contract that are broken (`rules`): exit
codes, one line of error, no traceback, an end within a time, nothing written elsewhere (`watching`), no recorded row
lost (`recorded`).

    python -m tests.fuzzing                        1,000 cases
    python -m tests.fuzzing --first 5000 --count 500 --kind filter
    python -m tests.fuzzing filter:17 suite:4      these cases, with what they do
"""
