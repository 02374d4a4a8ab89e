"""A document with a table, a plot and runs, whose every text tries to be markup."""

from __future__ import annotations

import pandas as pd
import pytest

from normbench_cli.reporting.document import Cell, Document, Figure, Paragraph, Table

SCRIPT = "<script>alert(1)</script>"
BREAKOUT = "</script><script>alert(2)</script><!--"
QUOTES = "\"'><img src=x onerror=alert(3)>"
SPECIALS = "50% \\frac{a_b}{c^2} **bold** $x$ | & # ~ `code`"
ODD = (SCRIPT, BREAKOUT, QUOTES, SPECIALS)


@pytest.fixture(scope="module")
def document() -> Document:
    runs = ("aaaaaaaa", "bbbbbbbb")
    rows = [
        [Cell(SCRIPT), Cell("9.50", 9.5, runs=runs), Cell("-")],
        [Cell(QUOTES), Cell("10.20", 10.2, bold=True, runs=runs[:1]), Cell("b")],
        [Cell(SPECIALS), Cell("1.00", 1.0, underline=True), Cell("a")],
        [Cell("none"), Cell("-"), Cell("c")],
    ]
    points = pd.DataFrame(
        {
            "group": [SCRIPT] * 3 + [QUOTES] * 3,
            "at": [1, 2, 3] * 2,
            "mean": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
            "sd": 0.01,
            "n": 2,
            "unit_of_at": "epoch",
            "runs": [runs] * 6,
        }
    )
    details = {
        "status": "finished",
        "note": BREAKOUT,
        "tag": SPECIALS,
        "settings": {"norm": SCRIPT, "seed": 0},
        "environment": {"host": QUOTES, "versions": {"torch": "2.13"}},
        "metrics": {"test/accuracy": 0.5, "train/loss": float("nan")},
        "curves": {"test/accuracy": [[1, 0.1], [2, 0.5]]},
        "command": f"normbench train --note '{SCRIPT}'",
    }
    return Document(
        title=f"Report {SCRIPT}",
        head={"command": BREAKOUT, QUOTES: "1"},
        blocks=[
            Paragraph(BREAKOUT),
            Table(f"Table {QUOTES}", ["norm", "score", SCRIPT], rows, [SPECIALS]),
            Figure(f"Plot {SCRIPT}", "p", "curve", points, {"metric": "test/accuracy"}, [QUOTES]),
            Figure("Again", "p", "curve", points, {"metric": "test/accuracy"}),
        ],
        runs=dict.fromkeys(runs, details),
    )
