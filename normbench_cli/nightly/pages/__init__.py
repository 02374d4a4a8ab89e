"""The pages that a night writes: its own in Markdown and HTML, and an index over all nights.

    write     reads the nights of a database, writes the files
    names     the names of the files, and which of them may be replaced
    night     the page of one night; tables: its tables
    index     the page over all nights
    trends    a measurement over the nights, as a plot and as a sparkline
    facts     how the code and the machines of nights differ

Everything is made from the verdicts stored with the nights, so that pages can be made again.
"""

from __future__ import annotations

from normbench_cli.nightly.pages.write import write_pages

__all__ = ["write_pages"]
