"""Whole nights, with cells that take no time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from normbench_cli.errors import EXIT_INCOMPLETE, EXIT_NOTHING_MEASURED, EXIT_OK, EXIT_REGRESSION, DatabaseError
from normbench_cli.nightly.budget import Budget
from normbench_cli.nightly.cell import NightlySuite
from normbench_cli.nightly.cell_process import CellFailed, OutOfTime
from normbench_cli.nightly.decisions import Decision, record_decision
from normbench_cli.nightly.judging import FEWEST
from normbench_cli.nightly.run import AGAIN_SECONDS, NightResult
from normbench_cli.nightly.verdict_line import verdict_line
from normbench_cli.store import Store
from tests.nightly.support import TIME, Measuring, on, run, statuses, suite_of, usual

SUITE = suite_of("a", "b", "c", "d")
NIGHTS = 5
pytestmark = pytest.mark.usefixtures("without_pages")


def nights(count: int = NIGHTS, suite: NightlySuite = SUITE) -> NightResult:
    """Uneventful nights; what the last one came to."""
    results = [run(night, suite, Measuring(usual(suite, night))) for night in range(count)]
    assert all(result.verdict.exit_code == EXIT_OK for result in results)
    return results[-1]


def test_uneventful_nights_are_fine_and_nothing_is_measured_twice() -> None:
    assert statuses(nights()) == {}
    measuring = Measuring(usual(SUITE, NIGHTS))
    result = run(NIGHTS, SUITE, measuring)
    assert sorted(measuring.calls) == ["a", "b", "c", "d"]
    assert (result.verdict.outcome, len(result.verdict.judged)) == ("fine", 8)


def test_a_slowdown_is_measured_again_between_controls_and_then_called_a_regression() -> None:
    nights()
    measuring = Measuring(usual(SUITE, NIGHTS, b=1.4))
    result = run(NIGHTS, SUITE, measuring)
    assert result.verdict.exit_code == EXIT_REGRESSION
    assert statuses(result) == {f"b {TIME}": "regression"}
    again = measuring.calls[4:]
    assert again.count("b") >= 3
    assert len(set(again) - {"b"}) == 2
    assert f"b {TIME}" in verdict_line(result.verdict)
    assert str(on(NIGHTS)().date()) in verdict_line(result.verdict)


def test_what_is_farthest_out_is_measured_again_first_and_the_others_as_long_as_there_is_time() -> None:
    nights()
    measuring = Measuring(usual(SUITE, NIGHTS, a=1.6, b=1.8, c=1.7, d=1.3), seconds=AGAIN_SECONDS / 5)
    result = run(NIGHTS, SUITE, measuring)
    assert statuses(result) == {f"{name} {TIME}": "regression" for name in "abc"} | {f"d {TIME}": "suspected"}
    assert Counter(measuring.calls[4:]) == {"a": 3, "b": 3, "c": 3}


def test_controls_are_measured_again_in_the_first_rounds_only() -> None:
    nights()
    noisy = [1.5 * factor for factor in (1.12, 1.1, 1.14, 1.09, 1.13, 1.11) * 3]

    class Undecided(Measuring):
        def __call__(self, *words: Any) -> Any:
            if words[0].name == "b":
                self.values = usual(SUITE, NIGHTS) | {"b": {TIME: noisy[self.calls.count("b")], "train/loss": 0.25}}
            return super().__call__(*words)

    measuring = Undecided(usual(SUITE, NIGHTS))
    run(NIGHTS, SUITE, measuring)
    again = measuring.calls[4:]
    assert again.count("b") > FEWEST
    assert [again.count(name) for name in set(again) - {"b"}] == [FEWEST, FEWEST]


def test_what_is_not_confirmed_is_no_regression() -> None:
    nights()
    measuring = Measuring(usual(SUITE, NIGHTS, b=1.4))

    class OnceSlow(Measuring):
        def __call__(self, *words: Any) -> Any:
            if "b" in self.calls:
                self.values = usual(SUITE, NIGHTS)
            return super().__call__(*words)

    result = run(NIGHTS, SUITE, OnceSlow(measuring.values))
    assert result.verdict.exit_code == EXIT_OK
    assert statuses(result) == {}


def test_a_machine_that_became_slow_meanwhile_is_not_blamed_on_the_code() -> None:
    nights()

    class SlowAfterwards(Measuring):
        def __call__(self, *words: Any) -> Any:
            if len(self.calls) >= 4:
                self.values = usual(SUITE, NIGHTS, **dict.fromkeys("abcd", 1.5))
            return super().__call__(*words)

    result = run(NIGHTS, SUITE, SlowAfterwards(usual(SUITE, NIGHTS, b=1.4)))
    assert result.verdict.exit_code == EXIT_OK
    assert statuses(result) == {f"b {TIME}": "suspected"}
    (suspected,) = result.verdict.of("suspected")
    assert "the machine was disturbed" in suspected.finding.reason


def test_a_single_digit_of_an_exact_measurement_counts() -> None:
    nights(4)
    values = usual(SUITE, 4)
    values["c"]["train/loss"] += 1e-12
    result = run(4, SUITE, Measuring(values))
    assert statuses(result) == {"c train/loss": "regression"}


def test_an_improvement_is_reported_and_fine() -> None:
    nights()
    result = run(NIGHTS, SUITE, Measuring(usual(SUITE, NIGHTS, b=0.6)))
    assert result.verdict.exit_code == EXIT_OK
    assert statuses(result) == {f"b {TIME}": "improvement"}


def test_a_muted_regression_is_named_and_does_not_count() -> None:
    nights()
    with Store.open() as store:
        record_decision(store, Decision("mute", "tests", f"b {TIME}", on(30)().date(), "known"))
    measuring = Measuring(usual(SUITE, NIGHTS, b=1.4))
    result = run(NIGHTS, SUITE, measuring)
    assert result.verdict.exit_code == EXIT_OK
    assert [one.name for one in result.verdict.muted] == [f"b {TIME}"]
    assert len(measuring.calls) == 4


def test_another_version_of_torch_begins_a_new_baseline_and_the_page_says_so(
    facts: dict[str, Any], pages: None
) -> None:
    nights(1)
    facts["versions"]["torch"] = "2.14.0"
    result = run(NIGHTS, SUITE, Measuring(usual(SUITE, NIGHTS, **dict.fromkeys("abcd", 2.0))))
    assert result.verdict.exit_code == EXIT_OK
    assert set(statuses(result).values()) == {"new baseline"}
    assert r"torch 2.13.0 -\> 2.14.0" in result.pages[0].read_text()
    assert {path.suffix for path in result.pages} >= {".md", ".html"}


def test_a_cell_that_fails_costs_no_other() -> None:
    values = usual(SUITE) | {"b": CellFailed("out of memory")}
    result = run(0, SUITE, Measuring(values))
    assert result.verdict.exit_code == EXIT_INCOMPLETE
    assert dict(result.verdict.failed) == {"b": "out of memory"}
    assert {one.finding.measurement.cell for one in result.verdict.judged} == {"a", "c", "d"}


def test_a_heartbeat_that_cannot_be_recorded_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(store: Store, night_id: str) -> None:
        raise DatabaseError("the database is locked")

    monkeypatch.setattr("normbench_cli.nightly.night.beat_night", fail)
    result = run(0, SUITE, Measuring(usual(SUITE)))
    assert result.verdict.exit_code == EXIT_OK
    assert {one.finding.measurement.cell for one in result.verdict.judged} == {"a", "b", "c", "d"}


def test_a_cell_that_failed_has_its_turn_first_in_the_next_night() -> None:
    nights(2)
    run(2, SUITE, Measuring(usual(SUITE) | {"c": CellFailed("no")}))
    measuring = Measuring(usual(SUITE))
    run(3, SUITE, measuring)
    assert measuring.calls[0] == "c"


def test_a_night_in_which_nothing_could_be_measured_says_so() -> None:
    result = run(0, SUITE, Measuring(dict.fromkeys("abcd", CellFailed("no compiler"))))
    assert result.verdict.exit_code == EXIT_NOTHING_MEASURED


class Clock:
    """The clock of a budget, which cells move on."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr("normbench_cli.nightly.run.Budget", lambda seconds: Budget(seconds, found))
    return found


class Slow(Measuring):
    """Each cell takes ten seconds of the budget's clock."""

    clock: Clock

    def __call__(self, *words: Any) -> Any:
        self.clock.seconds += 10
        self.seconds = 10.0
        return super().__call__(*words)


def test_the_budget_is_kept_and_the_cells_that_did_not_fit_come_first_in_the_next_night(clock: Clock) -> None:
    turns = []
    for night in range(4):
        measuring = Slow(usual(SUITE, night))
        measuring.clock, clock.seconds = clock, 0.0
        result = run(night, SUITE, measuring, budget=30.0)
        turns.append("".join(measuring.calls))
        assert clock.seconds <= 30
        assert set(result.verdict.left_out) == set("abcd") - set(measuring.calls)
        assert result.verdict.exit_code == EXIT_OK, "a suite larger than its budget is nothing to be woken up for"
    assert turns[0] == "abc"[: len(turns[0])]
    assert {len(turn) for turn in turns[1:]} == {2}
    assert set("".join(turns[:2])) == set("abcd")


def test_a_cell_that_hangs_is_stopped_and_failed() -> None:
    result = run(0, SUITE, Measuring(usual(SUITE) | {"d": OutOfTime("it was stopped after 120 s")}))
    assert dict(result.verdict.failed) == {"d": "it was stopped after 120 s"}
