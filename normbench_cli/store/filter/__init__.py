"""The language of ``--where``, which selects runs by their settings, columns and metrics.

::

    expression  =  both ("or" both)*
    both        =  one ("and" one)*
    one         =  "not" one  |  "(" expression ")"  |  comparison
    comparison  =  name ("=" | "!=" | "<" | "<=" | ">" | ">=") value
                |  name ["not"] "in" "(" value ("," value)* ")"
                |  name ["not"] "like" value

`parser` turns text into an `expression.Filter`, a tree of comparisons; `values` defines comparisons for each type of
column; `position` points at an error.  Nothing is evaluated as Python or becomes SQL: a filter is applied
to rows that have been read.  Standard library only.
"""

from __future__ import annotations

from normbench_cli.store.filter.expression import Filter
from normbench_cli.store.filter.parser import parse_filter, parse_where

__all__ = ["Filter", "parse_filter", "parse_where"]
