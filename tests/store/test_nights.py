"""Nights as rows: whole cells, and what stays when runs are deleted."""

from __future__ import annotations

from datetime import date

import pytest
from sqlalchemy import select

from normbench_cli.store import Store
from normbench_cli.store.check import check_database
from normbench_cli.store.errors import Taken
from normbench_cli.store.nights import (
    begin_night,
    end_night,
    environments,
    mark_killed,
    night_values,
    nights,
    record_cell,
    reopen_night,
)
from normbench_cli.store.schema import NightValue

DAY = date(2026, 3, 1)
FACTS = {"torch": "2.13.0"}
pytestmark = pytest.mark.every_database


def a_night(store: Store) -> str:
    return begin_night(store, "canary", DAY, "abc", FACTS)


def test_a_deleted_run_leaves_the_values_of_its_night_and_their_environment(store: Store) -> None:
    run_id = store.begin({}, "f" * 16, {"torch": "another"}, argv=[])
    night = a_night(store)
    record_cell(store, night, "mlp", {"train/loss": 0.5}, environment_class="c", run_id=run_id)
    store.delete([run_id])
    (value,) = night_values(store, "canary")
    assert (value.run_id, value.value) == (None, 0.5)
    (row,) = nights(store)
    assert environments(store, [row.environment_id]) == {row.environment_id: FACTS}
    assert check_database(store).problems == []


def test_a_cell_is_recorded_whole_or_not_at_all(store: Store) -> None:
    night = a_night(store)
    with pytest.raises(ValueError, match="could not convert"):
        record_cell(store, night, "mlp", {"a": 1.0, "b": "no number"}, environment_class="c")  # type: ignore[dict-item]
    assert night_values(store) == []


def test_a_night_that_goes_on_keeps_whole_cells_and_measures_suspects_again(store: Store) -> None:
    night = a_night(store)
    for cell, repeat in (("a", 0), ("b", 0), ("a", 1)):
        record_cell(store, night, cell, {"train/loss": 0.5}, environment_class="c", repeat=repeat)
    end_night(store, night, "killed")
    reopen_night(store, night, stale=["b"])
    assert [(value.cell, value.repeat) for value in night_values(store)] == [("a", 0)]
    (row,) = nights(store)
    assert (row.status, row.finished_at) == ("running", None)


def test_only_a_night_that_nobody_continued_is_marked_as_killed(store: Store) -> None:
    a_night(store)
    (seen,) = nights(store)
    mark_killed(store, seen)
    reopen_night(store, seen.id, stale=[])
    mark_killed(store, seen)
    assert nights(store)[0].status == "running"
    mark_killed(store, nights(store)[0])
    assert nights(store)[0].status == "killed"


def test_an_unknown_status_is_a_programming_error(store: Store) -> None:
    with pytest.raises(ValueError, match="a night cannot be asleep"):
        end_night(store, a_night(store), "asleep")


def test_units_are_known_or_given(store: Store) -> None:
    night = a_night(store)
    values = {"peak_memory_bytes": 1.0, "own": 2.0}
    record_cell(store, night, "a", values, environment_class="c", units={"own": "x own"})
    with store.reading() as session:
        assert set(session.scalars(select(NightValue.unit))) == {"bytes", "x own"}


def test_a_night_is_continued_by_one_process(store: Store) -> None:
    night = a_night(store)
    record_cell(store, night, "a", {"train/loss": 0.5}, environment_class="c")
    with pytest.raises(Taken, match=f"night {night} is already being continued"):
        reopen_night(store, night, stale=["a"])
    assert [value.cell for value in night_values(store)] == ["a"]
