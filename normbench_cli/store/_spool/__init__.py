"""Where a run's records go while the database cannot be written: nothing is lost and nothing is doubled.

`writes` are a run's records as values, `recorder` writes them to the database or, where that fails, to a `spool_file`;
`spool` finds these files, and `replay` records them once the database can be written.
"""
