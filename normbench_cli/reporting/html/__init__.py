"""A report as one HTML file: it loads nothing, works from disk, in light and dark, with and without a mouse.

    page.html page.css page.js    the page, its look and its behavior; `page` assembles them
    tables                        tables that sort and filter, every number a button that opens its runs
    plots                         plots as SVG with a mark for every value
    runs                          the details of the runs, as JSON inside the page
    text                          text from the database, escaped for each of these contexts

Every text from the database passes through `text`; the page's Content-Security-Policy allows no script but its own and
no external address.
"""

from __future__ import annotations

from normbench_cli.reporting.html.page import to_html

__all__ = ["to_html"]
