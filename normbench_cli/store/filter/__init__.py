"""The language of ``--where``: which runs are meant, by their settings, facts and metrics.

::

    expression  =  both ("or" both)*
    both        =  one ("and" one)*
    one         =  "not" one  |  "(" expression ")"  |  comparison
    comparison  =  name ("=" | "!=" | "<" | "<=" | ">" | ">=") value
                |  name ["not"] "in" "(" value ("," value)* ")"
                |  name ["not"] "like" value

`parser` turns text into an `expression.Filter`, a tree of comparisons; `values` says what a comparison means for a
column; `place` points at the place of an error.  Nothing is evaluated as Python and nothing becomes SQL: a filter is
applied to rows that have been read.  Standard library only.
"""

from __future__ import annotations

from normbench_cli.store.filter.expression import Filter
from normbench_cli.store.filter.parser import parse_filter, parse_where

__all__ = ["Filter", "parse_filter", "parse_where"]
