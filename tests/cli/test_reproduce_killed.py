"""A reproduction that is killed and started again runs nothing twice."""

from __future__ import annotations

import signal
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import select

from normbench_cli.store import Store
from normbench_cli.store.schema import Metric
from tests.cli.test_reproduce import MINE
from tests.killing import CAN_FORK, recorded_runs, run_to_end, trap


@pytest.mark.slow
@pytest.mark.skipif(not CAN_FORK, reason="needs fork")
@pytest.mark.parametrize(("place", "step"), [("after commit", 7), ("before commit", 11), ("step", 3), ("scoring", 2)])
def test_killed_again_and_again_every_run_is_made_once(place: str, step: int, tmp_path: Path) -> None:
    """Each start gets a little further before it is killed."""
    (tmp_path / "mine.toml").write_text(MINE)
    words = ["reproduce", str(tmp_path / "mine.toml"), "--scale", "full", "--json"]
    ends: list[int | None] = []
    while 0 not in ends:
        assert len(ends) < 20
        ends.append(run_to_end(tmp_path, words, partial(trap, place, step * (1 + len(ends)), {})))
        if ends[-1] not in (0, -signal.SIGKILL):  # a run that has just been killed counts as running for GRACE
            time.sleep(1)
    assert len(ends) > 1
    runs = recorded_runs(tmp_path)
    assert [run.status for run in runs] == ["finished"] * 4
    assert len({run.fingerprint for run in runs}) == 4
    assert max(attacked(tmp_path).values()) == 1


def attacked(home: Path) -> Counter[tuple[str, str, str]]:
    """How often each run was scored under each attack."""
    with Store.open(str(home / "normbench.db"), sweep=False) as store, store.reading() as session:
        found = session.execute(
            select(Metric.run_id, Metric.name, Metric.condition).where(Metric.condition.like("bim%"))
        )
        return Counter((run_id, name, condition) for run_id, name, condition in found)
