"""Repairing a damaged database (`normbench_cli.store.repair`).

`salvage` copies what can be read from a damaged file into a new one, `rows` repairs the rows with damaged values, and
`replacements` defines what replaces a damaged value.
"""
