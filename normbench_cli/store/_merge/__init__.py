"""Merging two databases (`normbench_cli.store.merge`).

`contents` reads a database with stable keys instead of row numbers, `collisions` renames a run whose id belongs to a
different run in the other database, `joining` merges a run that both have, `merge_rows` writes the difference, and
`merged` counts what was done.
"""
