"""Keeping a run's records while the database cannot be written, without losing or duplicating any.

`writes` represents a run's records as values, `recorder` writes them to the database or, if that fails, to a
`spool_file`; `spool` finds these files, and `replay` records them once the database can be written.
"""
