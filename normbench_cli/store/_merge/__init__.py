"""How two databases become one (`normbench_cli.store.merge`).

`contents` reads a database with stable keys instead of row numbers, `collisions` renames a run whose identifier means
another run there, `joining` decides what becomes of a run that both have, `merge_rows` writes the difference, and
`merged` counts what was done.
"""
