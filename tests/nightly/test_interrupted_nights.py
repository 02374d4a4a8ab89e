"""Nights that were interrupted or killed, and nights that meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from normbench_cli.interrupts import Interrupted
from normbench_cli.nightly.history import read_nights
from normbench_cli.nightly.lock import Locked, night_lock
from normbench_cli.store import Store
from normbench_cli.store.nights import night_values
from tests.nightly.support import Measuring, on, run, statuses, suite_of, usual

SUITE = suite_of("a", "b", "c", "d")
pytestmark = pytest.mark.usefixtures("without_pages")


def test_an_interrupted_night_goes_on_when_it_is_begun_again_the_same_day() -> None:
    first = Measuring(usual(SUITE) | {"c": KeyboardInterrupt})
    with pytest.raises(Interrupted, match="the same command continues the night today"):
        run(0, SUITE, first)
    second = Measuring(usual(SUITE))
    result = run(0, SUITE, second)
    assert (first.calls, second.calls) == (["a", "b", "c"], ["c", "d"])
    assert len(result.verdict.judged) == 8
    with Store.open() as store:
        (night,) = read_nights(store, "tests")
    assert (night.id, night.status) == (result.verdict.night, "finished")


def test_a_killed_night_of_another_day_stays_killed_and_counts_for_nothing() -> None:
    with pytest.raises(Interrupted):
        run(0, SUITE, Measuring(usual(SUITE) | {"c": KeyboardInterrupt}))
    measuring = Measuring(usual(SUITE))
    result = run(1, SUITE, measuring)
    assert len(measuring.calls) == 4
    assert set(statuses(result).values()) == {"new baseline"}
    with Store.open() as store:
        assert [night.status for night in read_nights(store, "tests")] == ["killed", "finished"]


def test_a_killed_night_does_not_go_on_with_other_code(facts: dict[str, Any]) -> None:
    with pytest.raises(Interrupted):
        run(0, SUITE, Measuring(usual(SUITE) | {"c": KeyboardInterrupt}))
    facts["git_sha"] = "abc"
    measuring = Measuring(usual(SUITE))
    run(0, SUITE, measuring)
    assert len(measuring.calls) == 4


def test_no_value_is_recorded_twice() -> None:
    with pytest.raises(Interrupted):
        run(0, SUITE, Measuring(usual(SUITE) | {"c": KeyboardInterrupt}))
    run(0, SUITE, Measuring(usual(SUITE)))
    with Store.open() as store:
        rows = [(row.night_id, row.cell, row.metric, row.repeat) for row in night_values(store)]
    assert len(rows) == len(set(rows)) == 12


def test_a_second_night_of_a_day_is_a_night_of_its_own() -> None:
    one, two = (run(0, SUITE, Measuring(usual(SUITE))) for _ in range(2))
    assert one.verdict.night != two.verdict.night


def test_nothing_is_touched_while_another_process_measures(home: Path) -> None:
    measuring = Measuring(usual(SUITE))
    with night_lock("canary", on(0)()), pytest.raises(Locked, match="has been measuring canary since 2026-03-01 04:10"):
        run(0, SUITE, measuring)
    assert measuring.calls == []
    assert not (home / "normbench.db").exists()
