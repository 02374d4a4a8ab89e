"""A profile from plan to database: passes, the limit, failures, memory that is missing, and two equal contenders."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.experiments.profiling import measure
from normbench_cli.experiments.profiling.plan import plan_profile
from normbench_cli.experiments.profiling.roofline import Roofline
from normbench_cli.experiments.profiling.run import profile_contenders, run_profile
from normbench_cli.measure.timing import Timing
from normbench_cli.store import Store
from normbench_cli.store.queries import series, series_names

Row = dict[str, Any]
SHAPE = (8, 4, 6, 6)


@pytest.fixture
def store() -> Any:
    with Store.open() as opened:
        yield opened


def times(found: dict[str, Any], reference: str | None = "batchnorm") -> dict[str, Row]:
    rows = (row for row in found["results"] if row["metric"] == "step_time_ms")
    return {row["contender"]: row for row in rows if row["reference"] in (reference, None)}


def test_the_limit_of_a_batch_norm_is_that_of_a_hand_computation(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 10 GB/s the five tensors of 4,608 bytes take 2.304 microseconds, and the layer is said to take 4.608."""
    monkeypatch.setattr(Roofline, "least_ms", lambda self, moved, working_set: 1e3 * moved / 10e9)

    def timed(work: dict[str, Any], *args: Any, **options: Any) -> list[Timing]:
        options["between"]()
        return [Timing(name, [4.608e-3]) for name in work]

    monkeypatch.setattr(measure, "time_interleaved", timed)
    found = times(run_profile(plan_profile(["torch.nn:BatchNorm2d"], shapes=[SHAPE], only="layers"), store))
    own = found["torch.nn:BatchNorm2d"]
    assert own["moved_bytes"] == 5 * 8 * 4 * 6 * 6 * 4 == 23_040
    assert own["least_ms"] == pytest.approx(2.304e-3)
    assert own["limit_fraction"] == pytest.approx(0.5)
    assert found["none"]["limit_fraction"] is None
    assert found["none"]["moved_bytes"] == 0


def test_a_layer_that_is_faster_than_the_limit_has_the_bandwidth_measured_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Roofline, "least_ms", lambda self, moved, working_set: 1e9)
    monkeypatch.setattr(Roofline, "least_ms_again", lambda self, moved, working_set: 1e-9)
    found = times(run_profile(plan_profile([], shapes=[SHAPE], only="layers", rounds=5), store))
    assert 0 < found["batchnorm"]["limit_fraction"] < 1


def test_a_contender_that_fails_leaves_the_others_and_its_run_says_why(store: Store) -> None:
    plan = plan_profile(["graphnorm"], shapes=[SHAPE, (36, 4)], only="layers", rounds=5)
    run_ids, found = profile_contenders(plan, store)
    by_status = {(row["contender"], row["shape"]): row["status"] for row in found["results"] if row["n"] != 1}
    assert by_status["graphnorm", "8x4x6x6"] == "failed"
    assert by_status["graphnorm", "36x4"] == by_status["batchnorm", "8x4x6x6"] == "ok"
    run = store.find(run_ids["graphnorm"])
    assert run.status == "finished"
    assert run.message.startswith("8x4x6x6: failed, ValueError: expected (nodes, 4)")
    nowhere = plan_profile(["graphnorm"], shapes=[SHAPE], only="layers", rounds=5)
    assert store.find(profile_contenders(nowhere, store)[0]["graphnorm"]).status == "failed"


def test_every_raw_sample_is_recorded_and_rows_are_shown_as_they_come(store: Store) -> None:
    shown: list[list[Row]] = []
    plan = plan_profile([], shapes=[SHAPE], only="layers", rounds=6, passes=["both", "eval"])
    run_ids, found = profile_contenders(plan, store, shown.append)
    assert [row for rows in shown for row in rows] == found["results"]
    assert {"step_time_ms@8x4x6x6", "step_time_ms@8x4x6x6+eval"} <= set(series_names(store, run_ids["batchnorm"]))
    for name in ("step_time_ms@8x4x6x6", "step_time_ms@8x4x6x6+eval"):
        assert len(series(store, run_ids["batchnorm"], name)) == 6
    assert len(series(store, run_ids["batchnorm"], "calibration_ms@8x4x6x6")) == 7 + 6 + 7
    assert found["environment"]["affinity"]
    assert times(found)["batchnorm"]["calibrated"] > 0


CAPPED = """
import resource, sys, torch
import normbench_cli.cli.main as program
from normbench_cli.measure.timing import sample_ms
torch.ones(300, 300) @ torch.ones(300, 300)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 3 * 2**30,) * 2)
sys.argv = ["normbench", *sys.argv[1:]]
program.main()
"""


@pytest.mark.slow
def test_a_cap_on_memory_is_a_result_of_one_shape_and_the_others_finish(tmp_path: Path) -> None:
    """A tensor of 4 GiB does not fit under the cap of 3."""
    words = [
        "--norm",
        "popnorm",
        "--shape",
        "8x4x6x6",
        "--shape",
        "4096x64x64x64",
        "--rounds",
        "5",
        "--budget",
        "0.01s",
    ]
    done = subprocess.run(
        [sys.executable, "-c", CAPPED, "profile", *words, "--no-memory"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 5, done.stderr
    assert "layer 4096x64x64x64 popnorm: oom" in done.stderr
    assert "layer 8x4x6x6 popnorm: " in done.stderr
    assert "oom: there was not enough memory." in done.stdout
