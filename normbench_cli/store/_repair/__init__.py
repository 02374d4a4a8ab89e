"""How a damaged database is repaired (`normbench_cli.store.repair`).

`salvage` copies what can be read from a damaged file into a new one, `rows` goes through the rows whose values are
damaged, and `replacements` says what replaces a damaged value.
"""
