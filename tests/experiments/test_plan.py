"""The cells of a grid: equal ones once, with what is recorded of each, before anything is launched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from normbench_cli.axes.experiment import make_experiment
from normbench_cli.config import make_config
from normbench_cli.experiments import grid
from normbench_cli.experiments.plan import Cell, plan_grid
from normbench_cli.store import Store
from tests.support import recorded_in


def configs(**axes: list[str]) -> list[Any]:
    given = {"data": "digits:size=8", "model": "mlp", "epochs": 1, "seeds": range(2)}
    return make_experiment({**given, **axes}).configs()


def enter(norm: str, seed: int, status: str) -> str:
    config = make_config({"data": "digits:size=8", "model": "mlp", "epochs": 1, "norm": norm, "seed": seed})
    with Store.open() as store:
        run_id = store.begin(config.to_dict(), config.fingerprint(), {}, argv=[])
        if status != "running":
            store.end(run_id, status)
    return run_id


def test_a_grid_is_every_combination_and_equal_cells_are_one() -> None:
    cells = plan_grid(configs(norm=["bn,none", "batchnorm"], act=["relu", "tanh"]))
    assert [(c.config.norm, c.config.act, c.config.seed) for c in cells] == [
        (norm, act, seed) for norm in ("batchnorm", "none") for act in ("relu", "tanh") for seed in (0, 1)
    ]
    assert all((cell.status, cell.run_id, cell.due) == ("new", "", True) for cell in cells)


def test_planning_writes_nothing(home: Path) -> None:
    plan_grid(configs(norm=["popnorm"]))
    assert recorded_in(home) == []


@pytest.mark.parametrize(
    ("status", "due"),
    [("finished", False), ("diverged", False), ("failed", True), ("interrupted", True), ("running", True)],
)
def test_a_cell_shows_what_is_recorded_of_it_and_a_result_is_kept(status: str, due: bool) -> None:
    run_id = enter("popnorm", 1, status)
    new, recorded = plan_grid(configs(norm=["popnorm"]))
    assert (new.status, new.due) == ("new", True)
    assert (recorded.status, recorded.run_id, recorded.due) == (status, run_id, due)


def test_a_result_counts_more_than_a_later_failure() -> None:
    run_id = enter("popnorm", 0, "finished")
    enter("popnorm", 0, "failed")
    cell = plan_grid(configs(norm=["popnorm"]))[0]
    assert (cell.status, cell.run_id, cell.due) == ("finished", run_id, False)


def test_a_single_run_and_a_rerun_are_always_due() -> None:
    enter("popnorm", 0, "finished")
    assert [cell.due for cell in plan_grid(configs(norm=["popnorm"])[:1])] == [True]
    assert [cell.due for cell in plan_grid(configs(norm=["popnorm"]), rerun=True)] == [True, True]


def test_only_cells_that_are_due_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    monkeypatch.setattr("normbench_cli.build.check", lambda config: checked.append(config.norm))
    monkeypatch.setattr(grid, "run_grid", lambda cells, *_: ["new" for cell in cells if cell.due])
    run_id = enter("popnorm", 0, "finished")
    found: list[Any] = grid.train(norm=["popnorm", "none"], data="digits:size=8", model="mlp", epochs=1, seeds=0)
    assert checked == ["none"]
    assert (found[0].id, found[1]) == (run_id, "new")


def test_cells_that_amp_auto_makes_equal_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: {"avx512_bf16": True}, raising=False)
    auto, bf16 = (make_config({"model": "mlp", "data": "digits:size=8", "amp": amp}) for amp in ("auto", "bf16"))
    (cell,) = plan_grid([auto, bf16])
    assert isinstance(cell, Cell)
    assert cell.fingerprint == bf16.fingerprint()
