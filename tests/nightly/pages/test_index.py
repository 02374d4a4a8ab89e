"""The page over all nights."""

from __future__ import annotations

from dataclasses import replace

from normbench_cli.nightly.pages.index import TRENDS, index_document
from normbench_cli.nightly.pages.trends import ReadNight
from normbench_cli.reporting.document import Document, Figure, Table
from normbench_cli.reporting.html import to_html
from tests.nightly.pages.nights import killed, night, nights


def table(document: Document) -> list[dict[str, str]]:
    found = document.blocks[0]
    assert isinstance(found, Table)
    return [dict(zip(found.columns, (cell.text for cell in row), strict=True)) for row in found.rows]


def index(*extra: ReadNight) -> Document:
    return index_document([*nights(), *extra], {"0000000b": "nightly-2026-11-19.html"}, {"database": "a.db"})


def test_it_begins_with_the_last_verdict_of_each_suite() -> None:
    other = night(3, suite="other")
    assert index(other).lead == (
        "canary 2026-11-19: 1 regression (resnet20/popnorm step_time_ms +12.3 % since 2026-11-16), 5 measurements, "
        "1 improved, 1 muted; other 2026-11-11: fine, 5 measurements, 5 with too few nights to judge"
    )
    assert index_document([], {}, {}).lead == "No night has ended yet"


def test_a_row_a_night_the_newest_first_with_a_link_to_its_page() -> None:
    rows = table(index(killed(12)))
    assert rows[0]["verdict"] == "killed: its process disappeared"
    assert {**rows[1], "commit": ""} == {
        "day": "2026-11-19",
        "suite": "canary",
        "verdict": "regression",
        "measured": "5",
        "regressions": "1",
        "improved": "1",
        "muted": "1",
        "missing": "0",
        "minutes": "4.2",
        "commit": "",
    }
    html = to_html(index())
    assert html.count("<a href=") == 1
    assert '<a href="nightly-2026-11-19.html">2026-11-19</a>' in html


def test_the_trends_of_what_changed_come_first() -> None:
    figures = [block.title for block in index().blocks if isinstance(block, Figure)]
    assert figures[:2] == ["resnet20/popnorm step_time_ms", "layer/augnorm step_time_ms"]
    assert len(figures) <= TRENDS


def test_a_night_that_still_runs_is_shown_as_such() -> None:
    running = ReadNight(replace(night(12).summary, status="running", finished_at=None), None)
    assert table(index(running))[0]["verdict"] == "running"
