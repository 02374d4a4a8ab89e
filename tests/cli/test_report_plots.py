"""`normbench report --plot`: files beside the report's, and errors in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import RunCommand, train


def test_plots_are_written_beside_the_report(normbench: RunCommand, tmp_path: Path) -> None:
    train(normbench, "--model", "mlp")
    ended = normbench("report", "--plot", "bars", "--plot", "pareto:cost=peak_memory_bytes", "--out", "plots")
    assert ended.code == 0, ended.err
    written = {path.name for path in (tmp_path / "plots").iterdir()}
    names = ("bars-test_accuracy", "pareto-test_accuracy-peak_memory_bytes")
    assert written >= {f"{name}.{form}" for name in names for form in ("svg", "png", "csv")}
    assert "written: plots/bars-test_accuracy.svg" in ended.err


@pytest.mark.parametrize(("plot", "says"), [("bar", "did you mean 'bars'"), ("curve:by=day", "epoch, step or seconds")])
def test_a_misspelled_plot_is_a_usage_error(normbench: RunCommand, plot: str, says: str) -> None:
    train(normbench, "--model", "mlp")
    ended = normbench("report", "--plot", plot)
    assert ended.code == 2
    assert says in ended.err
    assert ended.err.count("\n") <= 2
