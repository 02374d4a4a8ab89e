"""The error of solvers against passes: planned, measured, recorded, and drawn again by a report."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from normbench_cli.errors import UsageError
from normbench_cli.experiments.profiling.solver import PASSES, plan_solver, run_solver
from normbench_cli.reporting.document import Figure
from normbench_cli.reporting.figures import make_figures, parse_plot
from normbench_cli.reporting.profiles.solver import to_document
from normbench_cli.reporting.query import ReportQuery
from normbench_cli.reporting.selection import select_runs
from normbench_cli.store import Store
from normbench_cli.store.queries import runs_frame, series

DATA = {"line": torch.linspace(0, 1, 16)[:, None].square(), "two": torch.tensor([[0.0], [0.0], [0.0], [1.0]])}


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open() as opened:
        yield opened


@pytest.mark.parametrize(("phi", "shape"), [(1.0, (8, 2)), (17.0, (8, 2)), (float("inf"), (8, 2)), (1.5, (8, 2, 2))])
def test_what_needs_no_search_and_what_is_no_matrix_is_refused(phi: float, shape: tuple[int, ...]) -> None:
    with pytest.raises(UsageError):
        plan_solver([phi], shape=shape)


def test_both_solvers_are_measured_on_data_of_ones_own_and_drawn_again_from_the_record(store: Store) -> None:
    shown: list[list[dict[str, object]]] = []
    plan = plan_solver([1.2], data=DATA, rounds=3, seconds=0)
    found = run_solver(plan, store, shown.append)
    rows = found["results"]
    assert [row for part in shown for row in part] == rows
    assert len(rows) == len(DATA) * 2 * len(PASSES) * 2
    errors = {(r["data"], r["contender"], r["passes"]): r for r in rows if r["metric"] == "solver/error"}
    assert errors["two", "safe", PASSES[-1]]["largest"] <= 1e-5
    assert errors["two", "newton", PASSES[-1]]["largest"] > 1e4
    assert errors["two", "newton", 4]["used_max"] == 4
    assert {row["n"] for row in rows if row["metric"] == "step_time_ms"} == {3}
    runs = runs_frame(store, kind="profile")
    assert sorted(runs["norm"]) == ["augnorm:phi=1.2", "augnorm:phi=1.2,solver=newton:iterations=32"]
    assert len(series(store, runs["id"].iloc[0], "solver/time_ms@line+passes=4")) == 3

    (drawn,) = [block for block in to_document(rows, {}).blocks if isinstance(block, Figure)]
    selection = select_runs(store, ReportQuery(kind="profile"))
    (again,) = make_figures(store, selection, [parse_plot("convergence")])
    columns = ["group", "panel", "at"]
    first, second = (one.points.set_index(columns)["error"].sort_index() for one in (drawn, again))
    assert first.to_dict() == pytest.approx(second.to_dict())
    assert (again.name, again.title) == (drawn.name, drawn.title)
