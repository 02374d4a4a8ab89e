"""What the measuring process answers."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.nightly.bisect import measure_one
from normbench_cli.nightly.bisect.measure_one import answers

REQUEST = {"suite": "canary", "cell": "mlp/batchnorm", "metric": "test/accuracy"}


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the cells that are measured, with an accuracy of 0.9."""
    names: list[str] = []

    def measure_cell(cell: Any, store: Any) -> dict[str, float]:
        names.append(cell.name)
        return {"test/accuracy": 0.9}

    monkeypatch.setattr(measure_one, "measure_cell", measure_cell)
    return names


def test_each_line_is_answered_by_a_measurement(measured: list[str]) -> None:
    found = list(answers(REQUEST, io.StringIO("{}\n{}\n")))
    assert [one["value"] for one in found] == [0.9, 0.9]
    assert measured == ["mlp/batchnorm", "mlp/batchnorm"]
    assert str(Path(measure_one.__file__)) in found[0]["files"]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"metric": "train/gone"}, "the cell does not measure train/gone"),
        ({"cell": "mlp/batchnrm"}, "did you mean 'mlp/batchnorm'"),
        ({"suite": "canari"}, "there is no nightly suite 'canari'"),
        ({"suite": None}, "Error: "),
    ],
)
def test_what_cannot_be_measured_is_one_error(measured: list[str], other: dict[str, Any], message: str) -> None:
    (found,) = answers(REQUEST | other, io.StringIO("{}\n{}\n"))
    assert message in found["error"]
