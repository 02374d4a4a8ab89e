"""What a record becomes: which steps a chunk covers, times in UTC, hashes of facts."""

from __future__ import annotations

import hashlib
import math
import secrets
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import Dialect
from sqlalchemy.dialects import sqlite

from normbench_cli.store import Store, rows
from normbench_cli.store.rows import Measurements, facts_hash, metric_rows, series_row
from normbench_cli.store.schema import NanFloat, UtcDateTime

pytestmark = pytest.mark.every_database


@pytest.mark.parametrize(("step", "first"), [(5, 2), (4, 1), (3, 0), (2, 0), (0, 0), (None, 0)])
def test_a_chunk_ends_at_its_step(step: int | None, first: int) -> None:
    row = series_row("run", "train/loss", [1, 2, 3], epoch=4, step=step)
    assert (row["first_step"], row["count"], row["epoch"], row["name"]) == (first, 3, 4, "train/loss")


def test_a_metric_row_has_all_parts_of_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    monkeypatch.setattr(rows, "now", lambda: moment)
    assert metric_rows("run", {"test/accuracy@bim": 1}, 2, 30) == [
        {
            "run_id": "run", "epoch": 2, "step": 30, "split": "test", "condition": "bim", "name": "accuracy",
            "value": 1.0, "unit": "fraction", "recorded_at": moment,
        }
    ]  # fmt: skip


def test_a_record_needs_nothing_but_metrics() -> None:
    record = Measurements({"train/loss": 1.0})
    assert (record.epoch, record.step, record.series) == (None, None, {})


def test_equal_facts_have_equal_hashes_even_those_json_does_not_know() -> None:
    here = Path("here")
    assert facts_hash({"a": 1, "b": {"c": here, "d": 2}}) == facts_hash({"b": {"d": 2, "c": here}, "a": 1})
    assert facts_hash({"b": 1, "a": here}) == hashlib.sha256(b'{"a": "here", "b": 1}').hexdigest()  # as recorded
    assert facts_hash({"a": here}) != facts_hash({"a": Path("there")})


def test_an_id_in_use_is_not_given_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(["aaaaaaaa", "aaaaaaaa", "aaaaaaaa", "bbbbbbbb"])
    monkeypatch.setattr(secrets, "token_hex", lambda size: next(drawn)[: 2 * size])
    assert [store.begin({}, "f", {}, argv=[]) for _ in range(2)] == ["aaaaaaaa", "bbbbbbbb"]


@pytest.fixture
def dialect() -> Dialect:
    return sqlite.dialect()


@pytest.mark.parametrize("hours", [-7, 0, 2])
def test_times_are_stored_in_utc(dialect: Dialect, hours: int) -> None:
    local = datetime(2026, 1, 2, 12, tzinfo=timezone(timedelta(hours=hours)))
    stored = UtcDateTime().process_bind_param(local, dialect)
    assert stored == datetime(2026, 1, 2, 12 - hours)
    assert UtcDateTime().process_result_value(stored, dialect) == local
    assert UtcDateTime().process_bind_param(None, dialect) is None
    assert UtcDateTime().process_result_value(None, dialect) is None


def test_nan_is_stored_as_null_on_every_database(dialect: Dialect) -> None:
    assert NanFloat().process_bind_param(math.nan, dialect) is None
    assert NanFloat().process_bind_param(None, dialect) is None
    assert NanFloat().process_bind_param(math.inf, dialect) == math.inf
    assert math.isnan(NanFloat().process_result_value(None, dialect))
