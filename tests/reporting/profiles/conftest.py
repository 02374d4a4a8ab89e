"""Profiles that were recorded on several days, hosts and versions, without measuring anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import pytest
from sqlalchemy import update

from normbench_cli.store import Store
from normbench_cli.store.schema import Run

FIRST = datetime(2026, 3, 1, 12, tzinfo=UTC)
PLACE = "8x4"


class Enter(Protocol):
    def __call__(
        self,
        times: Mapping[str, Sequence[float]],
        *,
        day: float = 0,
        calibration: float | None = 1.0,
        config: Mapping[str, Any] = ...,
        **facts: Any,
    ) -> dict[str, str]: ...


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    with Store.open() as opened:
        yield opened


@pytest.fixture
def enter(store: Store) -> Enter:
    """A profile of norms with these samples at one shape, with a calibration of a fixed time; its runs by norm."""

    def run(
        times: Mapping[str, Sequence[float]],
        *,
        day: float = 0,
        calibration: float | None = 1.0,
        config: Mapping[str, Any] = {},
        **facts: Any,
    ) -> dict[str, str]:
        environment = {"host": "here", "normbench": "1.0", "versions": {"torch": "2.9"}, "threads": 2, **facts}
        ids = {}
        for norm in times:
            settings = {"norm": norm, "model": "resnet20", "act": "relu", "data": "digits", **config}
            ids[norm] = store.begin(settings, f"{norm}{sorted(facts)}", environment, kind="profile", argv=[])
        for norm, samples in times.items():
            series = {f"step_time_ms@{PLACE}": list(samples)}
            if calibration is not None:
                series[f"calibration_ms@{PLACE}"] = [calibration] * (len(samples) + 14)
            store.record(ids[norm], {f"step_time_ms@{PLACE}": sorted(samples)[len(samples) // 2]}, series=series)
            store.end(ids[norm], "finished")
        started = FIRST + timedelta(days=day)
        with store.writing() as session:
            moments = {"started_at": started, "finished_at": started + timedelta(minutes=1)}
            session.execute(update(Run).where(Run.id.in_(ids.values())).values(**moments))
        return ids

    return run
