"""How a damaged database is mended (`normbench_cli.store.repair`).

`salvage` copies what can be read from a damaged file into a new one, `mend_rows` goes through the rows whose values are
damaged, and `mending` says what a damaged value is replaced by.
"""
