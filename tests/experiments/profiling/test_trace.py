"""`--trace`: the norm layers of a step are in the file, by name and norm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.experiments.profiling.plan import plan_profile
from normbench_cli.experiments.profiling.trace import check_trace_file, write_trace

SETTINGS = {"model": "mlp", "data": "digits:size=8", "batch_size": 8}


def names_in(path: Path) -> set[str]:
    return {event.get("name", "") for event in json.loads(path.read_text())["traceEvents"]}


def test_a_training_step_names_every_norm_layer_forward_and_backward(tmp_path: Path) -> None:
    plan = plan_profile(["popnorm", "ws"], settings=SETTINGS, only="model")
    write_trace(plan, tmp_path / "trace.json")
    names = names_in(tmp_path / "trace.json")
    assert {f"{norm}: step of mlp" for norm in ("none", "batchnorm", "popnorm")} <= names
    for norm in ("batchnorm", "popnorm", "weightstandardization"):
        for direction in ("forward", "backward"):
            assert [name for name in names if name.endswith(f" {norm} {direction}")], (norm, direction)


def test_a_layer_is_traced_forward_and_backward_however_it_was_timed(tmp_path: Path) -> None:
    plan = plan_profile([], shapes=[(8, 4)], only="layers", passes=["backward"], calls=["compiled"])
    write_trace(plan, tmp_path / "trace.json")
    assert {"batchnorm: layer 8x4", "batchnorm forward", "batchnorm backward"} <= names_in(tmp_path / "trace.json")


def test_a_file_that_cannot_be_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing" / "trace.json"):
        with pytest.raises(UsageError, match="--trace"):
            check_trace_file(path)
