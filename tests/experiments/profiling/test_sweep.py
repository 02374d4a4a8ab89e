"""Sweeps: what a value changes in shapes and models, what is refused before anything is measured, rows and time."""

from __future__ import annotations

from typing import Any

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.experiments.profiling import sweep as sweeping
from normbench_cli.experiments.profiling.plan import ProfilePlan
from normbench_cli.experiments.profiling.presets import preset_shapes
from normbench_cli.experiments.profiling.sweep import SweepPlan, plan_sweep, run_sweep
from normbench_cli.experiments.profiling.sweep_values import parse_sweep
from normbench_cli.store import Store

MLP = {"model": "mlp:depth=2,size=8", "data": "digits:size=8", "batch_size": "16"}


def plan_of(text: str, only: str = "layers", **options: Any) -> SweepPlan:
    usual: dict[str, Any] = {"settings": {}, "shapes": {(8, 4, 6, 6): 1}, "rounds": 5}
    return plan_sweep(parse_sweep(text), [], only=only, **usual | options)


def shapes_of(plan: SweepPlan) -> list[dict[tuple[int, ...], int]]:
    return [{case.shape: count for case, count in each.cases.items()} for each in plan.plans]


def test_each_value_has_shapes_of_its_own_and_equal_ones_are_put_together() -> None:
    assert shapes_of(plan_of("batch-size=2/3")) == [{(2, 4, 6, 6): 1}, {(3, 4, 6, 6): 1}]
    shapes = {(8, 4, 6, 6): 2, (8, 5, 6, 6): 3}
    assert shapes_of(plan_of("width=7/9", shapes=shapes)) == [{(8, 7, 6, 6): 5}, {(8, 9, 6, 6): 5}]


def test_the_batch_of_a_preset_is_asked_of_the_preset() -> None:
    def preset(settings: Any) -> dict[tuple[int, ...], int]:
        return preset_shapes("gcn", settings.get("batch_size"))

    assert shapes_of(plan_of("batch-size=2/3", shapes=preset)) == [{(36, 64): 4}, {(54, 64): 4}]
    assert shapes_of(plan_of("width=8/16", shapes=preset)) == [{(128 * 18, 8): 4}, {(128 * 18, 16): 4}]


def test_models_are_set_to_a_batch_size_or_a_width() -> None:
    batches = plan_of("batch-size=8/32", "model", settings=MLP)
    assert [each.configs[0].batch_size for each in batches.plans] == [8, 32]
    assert batches.places == 2
    widths = plan_of("width=8/16", "model", settings=MLP)
    assert [each.configs[0].model for each in widths.plans] == [
        f"mlp:depth=2,size=8,width={width}" for width in (8, 16)
    ]


@pytest.mark.parametrize(
    ("text", "only", "settings", "message"),
    [
        ("width=8/16", "model", {}, "resnet20 has no width that can be set; use .*mlp"),
        ("size=8/16", "both", {}, "--sweep size is for layers"),
        ("batch-size=8/100000", "model", MLP, "batch_size is 100000, and digits:size=8 has"),
        ("batch-size=1/8", "model", MLP, "batch_size is 1"),
    ],
)
def test_what_cannot_be_measured_is_refused_before(text: str, only: str, settings: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan_of(text, only, settings=settings)


def test_rows_say_their_value() -> None:
    shown: list[Any] = []
    with Store.open() as store:
        found = run_sweep(plan_of("batch-size=2/3"), store, shown.append)
    assert [row for rows in shown for row in rows] == found["results"]
    assert {(row["sweep"], row["at"], row["shape"], row["series"]) for row in found["results"]} == {
        ("batch-size", value, f"{value}x4x6x6", "Nx4x6x6") for value in (2, 3)
    }


def test_values_share_the_time_and_what_one_leaves_the_others_get(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, seconds = [0.0], list[float]()

    def measured(plan: ProfilePlan, *args: Any) -> tuple[dict[str, str], dict[str, Any]]:
        seconds.append(plan.seconds)
        clock[0] += 6.0
        return {}, {"environment": {}, "results": [], "totals": [], "lost": []}

    monkeypatch.setattr(sweeping, "profile_contenders", measured)
    monkeypatch.setattr(sweeping, "monotonic", lambda: clock[0])
    with Store.open() as store:
        run_sweep(plan_of("batch-size=2/3/4", seconds=30.0), store)
    assert seconds == [10, 12, 18]
