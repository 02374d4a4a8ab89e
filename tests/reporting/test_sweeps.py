"""The sweep of a profile as tables and plots: a row for each value and norm, what failed included."""

from __future__ import annotations

from typing import Any

import numpy as np

from normbench_cli.reporting.document import Figure, Table
from normbench_cli.reporting.plots import drawing_of
from normbench_cli.reporting.sweeps import sweep_document

Row = dict[str, Any]


def row(norm: str, at: int, ms: float, **more: Any) -> Row:
    usual = {"sweep": "batch-size", "series": "Nx4", "shape": f"{at}x4", "device": "cpu", "dtype": "float32"}
    measured = {"metric": "step_time_ms", "status": "ok", "noisy": False, "median": ms, "iqr": 0.1, "n": 20}
    ratio = {"ratio": ms / 2, "ratio_low": ms / 2 - 0.1, "ratio_high": ms / 2 + 0.2}
    return {"contender": norm, "reference": "batchnorm", "at": at, **usual, **measured, **ratio, **more}


def parts(rows: list[Row]) -> tuple[list[Table], list[Figure]]:
    blocks = sweep_document(rows, {}).blocks
    return [each for each in blocks if isinstance(each, Table)], [each for each in blocks if isinstance(each, Figure)]


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in line] for line in table.rows]


def test_a_row_for_each_value_and_norm_with_intervals() -> None:
    failed = {"status": "oom", "reference": None, "median": None, "ratio": None, "iqr": 0}
    rows = [row("batchnorm", 8, 2.0), row("popnorm", 8, 3.0), row("popnorm", 16, 0.0, **failed)]
    ((table,), figures) = parts(rows)
    assert table.title == "layer Nx4 by batch-size, cpu"
    assert list(table.columns) == ["batch-size", "norm", "step ms (median)", "IQR", "time / batchnorm"]
    assert texts(table) == [
        ["8", "batchnorm", "2.000", "0.100", "1.00 [0.90, 1.20]"],
        ["8", "popnorm", "3.000", "0.100", "1.50 [1.40, 1.70]"],
        ["16", "popnorm", "oom", "-", "-"],
    ]
    ratios, times = figures
    assert ratios.points["group"].tolist() == ["popnorm"]
    assert times.points["mean"].tolist() == [2.0, 3.0]


def test_series_of_other_types_and_models_have_tables_of_their_own() -> None:
    model = {"series": "resnet20", "model": "resnet20", "share": 0.25, "share_low": 0.2, "share_high": 0.3}
    tables, _ = parts([row("popnorm", 8, 3.0, dtype="bfloat16"), row("popnorm", 8, 3.0, **model, step="eval")])
    assert [table.title for table in tables] == [
        "layer Nx4 bfloat16 by batch-size, cpu",
        "model resnet20 eval by batch-size, cpu",
    ]
    assert texts(tables[1])[0][-1] == "25.0 % [20.0, 30.0]"


def test_ratios_are_drawn_with_their_intervals_and_a_line_at_one() -> None:
    ratios = parts([row("popnorm", at, at / 4) for at in (8, 16, 32)])[1][0]
    drawing = drawing_of(ratios)
    assert drawing.marks[0].text == "popnorm, batch size 8: 1 (0.9 to 1.2)"
    (axes,) = drawing.plot.axes
    assert any(np.array_equal(line.get_ydata(), [1, 1]) for line in axes.lines)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("batch size", "time relative to batchnorm")
    assert [text.get_text() for text in drawing.plot.legends[0].get_texts()] == ["popnorm"]
    ends = [segment[:, 1].round(3).tolist() for bars in axes.collections for segment in bars.get_segments()]  # type: ignore[attr-defined]
    assert [0.9, 1.2] in ends


def test_noise_is_said_below_the_table() -> None:
    quiet, noisy = (parts([row("popnorm", 8, 3.0, noisy=value)])[0][0] for value in (False, True))
    assert len(quiet.notes) + 1 == len(noisy.notes)
    assert "3.000 noisy" in texts(noisy)[0]
