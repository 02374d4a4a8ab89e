"""The line of a night."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from normbench_cli.nightly.series import Finding
from normbench_cli.nightly.verdict import Judged, Verdict
from normbench_cli.nightly.verdict_line import verdict_line
from tests.nightly.pages.nights import BUMP, FIRST, STEP, night


def verdict(number: int, **changes: object) -> Verdict:
    found = night(number, **changes).verdict
    assert found
    return found


def test_a_fine_night() -> None:
    page = Path("reports/nightly-2026-11-13.md")
    assert verdict_line(verdict(5), page) == "canary 2026-11-13: fine, 5 measurements; reports/nightly-2026-11-13.md"


def test_a_regression_is_named_with_its_size_and_its_date() -> None:
    line = verdict_line(verdict(11, failed={"a": "?"}, left_out={"b": "?", "c": "?"}))
    assert line == (
        "canary 2026-11-19: 1 regression (resnet20/popnorm step_time_ms +12.3 % since 2026-11-16), 5 measurements, "
        "1 improved, 1 muted, 1 cell failed, 2 cells left out"
    )


def test_of_many_regressions_three_are_named() -> None:
    judged = [Judged(Finding(replace(STEP, cell=f"c{n}"), "regression", 2.0, 1.0, change=n / 10)) for n in range(1, 6)]
    line = verdict_line(Verdict("mine", "0", FIRST, tuple(judged)))
    named = "c5 step_time_ms +50.0 %, c4 step_time_ms +40.0 %, c3 step_time_ms +30.0 %, 2 more"
    assert line == f"mine 2026-11-08: 5 regressions ({named}), 5 measurements"


def test_new_baselines_and_nothing() -> None:
    assert verdict_line(verdict(BUMP)) == "canary 2026-11-10: fine, 5 measurements, 5 with a new baseline"
    assert verdict_line(verdict(5, judged=(), failed={"a": "?"})).endswith("nothing was measured, 1 cell failed")


def test_a_regression_that_was_withdrawn_is_no_regression() -> None:
    found = Verdict("mine", "0", FIRST, (Judged(Finding(STEP, "withdrawn", 2.0, 2.0, known=True)),))
    assert (found.outcome, found.exit_code) == ("fine", 0)
    assert verdict_line(found) == "mine 2026-11-08: fine, 1 measurement, 1 withdrawn"


def test_a_name_with_a_line_break_stays_on_the_line() -> None:
    assert "\n" not in verdict_line(verdict(5, suite="my\nsuite"))
