"""Decisions: the last one about a measurement counts, a mute is over on its day, and who decided is recorded."""

from __future__ import annotations

import getpass
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.nightly import decisions as module
from normbench_cli.nightly.decisions import Decision, baseline_of, decisions, in_force, is_muted, record_decision
from normbench_cli.nightly.series import Measurement
from normbench_cli.store import Store

TIME = Measurement("mlp/popnorm", "time_vs_calibration", "time")
DAY = date(2026, 11, 19)
DAYS = st.dates(DAY - timedelta(30), DAY + timedelta(30))


def mute(until: date, measurement: str = TIME.name) -> Decision:
    return Decision("mute", "canary", measurement, until, "known")


def accepted(first: date, environment_class: str = "") -> Decision:
    return Decision("accept", "canary", TIME.name, first, "meant", environment_class)


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with Store.open() as opened:
        yield opened


def test_what_is_recorded_is_read_with_its_author(store: Store) -> None:
    made = [accepted(DAY), mute(DAY, "other time")]
    record_decision(store, *made)
    record_decision(store, Decision("mute", "mine", TIME.name, DAY, "of another suite"))
    found = decisions(store, "canary")
    assert found == made
    assert (found[0].author, found[0].host) == (getpass.getuser(), socket.gethostname())
    assert found[0].made_at == made[0].made_at


@given(st.lists(DAYS, min_size=1), DAYS)
def test_the_last_mute_counts_and_is_over_on_its_day(ends: list[date], day: date) -> None:
    muted = is_muted(TIME, [mute(end) for end in ends], day)
    assert bool(muted) == (day < ends[-1])
    assert muted is None or (muted.until, muted.reason) == (ends[-1], "known")


def test_a_mute_concerns_its_measurement_alone() -> None:
    assert is_muted("other time", [mute(DAY, "other time")], DAY - timedelta(1))
    assert not is_muted(TIME, [mute(DAY, "other time"), accepted(DAY)], DAY - timedelta(1))


@given(st.lists(DAYS, min_size=1))
def test_the_last_accepted_baseline_counts(days: list[date]) -> None:
    assert baseline_of(TIME, [*map(accepted, days), mute(DAY)]) == days[-1]
    assert baseline_of("other time", list(map(accepted, days))) is None


def test_a_baseline_may_be_for_one_class_of_machines() -> None:
    made = [accepted(DAY), accepted(DAY + timedelta(1), "abc")]
    assert baseline_of(TIME, made, "abc") == DAY + timedelta(1)
    assert baseline_of(TIME, made, "other") == DAY


def test_in_force_is_the_last_of_each_kind_without_mutes_that_are_over() -> None:
    late, baseline = mute(DAY + timedelta(1)), accepted(DAY)
    assert in_force([mute(DAY), mute(DAY, "other time"), baseline, late], DAY) == [late, baseline]


@pytest.mark.parametrize("column", ["until", "kind"])
def test_a_damaged_decision_is_left_out_and_named(store: Store, home: Path, column: str) -> None:
    record_decision(store, accepted(DAY), mute(DAY))
    with closing(sqlite3.connect(home / "normbench.db")) as raw, raw:
        raw.execute(f"UPDATE night_decisions SET {column} = 'tomorrow' WHERE kind = 'accept'")
    assert [one.kind for one in decisions(store, "canary")] == ["mute"]
    assert "row 1 of night_decisions" in store.damage()[0]


def test_a_user_id_without_a_name_is_an_author(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert module.user().startswith(("user ", "unknown"))
