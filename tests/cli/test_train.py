"""normbench train: single runs and grids, what is skipped, failures, interruption, resuming."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from normbench_cli.engine.step import train_step
from normbench_cli.engine.training import Training
from tests.support import TINY, RunCommand, recorded_in, train

SMALL = ["--model", "mlp:width=8"]


def test_a_single_run_is_always_trained_and_reproducible(normbench: RunCommand) -> None:
    (first,), (again,) = train(normbench, "--norm", "bn"), train(normbench, "--norm", "batchnorm")
    assert first["fingerprint"] == again["fingerprint"]
    assert first["id"] != again["id"]
    for name in ("train/loss", "train/accuracy", "test/loss", "test/accuracy"):
        assert first["metrics"][name] == again["metrics"][name]
    assert first["status"] == "finished"
    assert first["config"]["norm"] == "batchnorm"
    assert {"step_time_ms", "samples_per_s", "peak_memory_bytes", "saved_activation_bytes"} <= set(first["metrics"])


def test_a_grid_skips_finished_cells(normbench: RunCommand) -> None:
    grid = [*SMALL, "--norm", "batchnorm,none", "--act", "relu", "--act", "tanh", "--seeds", "0-1"]
    assert len(train(normbench, *grid)) == 8
    assert train(normbench, *grid) == []
    assert "0 new, 8 already finished" in normbench("train", *TINY, *grid).out
    assert len(train(normbench, *grid, "--seeds", "2")) == 4
    assert len(train(normbench, *SMALL, "--norm", "batchnorm,none", "--act", "relu", "--rerun")) == 2


def test_divergence_is_a_recorded_result(normbench: RunCommand) -> None:
    (run,) = train(normbench, *SMALL, "--norm", "none", "--lr", "1e30")
    assert run["status"] == "diverged"
    assert run["metrics"]["train/loss"] is None  # JSON has no infinity
    shown = json.loads(normbench("runs", "list", "--json").out)["runs"]
    assert shown[0]["status"] == "diverged"


def test_a_failing_cell_does_not_stop_the_grid(normbench: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    from normbench_cli import build

    real = build.make_training

    def fail_for_tanh(config: build.ResolvedConfig) -> Training:
        if config.act == "tanh":
            raise RuntimeError("no such thing")
        return real(config)

    monkeypatch.setattr(build, "make_training", fail_for_tanh)
    ended = normbench("train", *TINY, *SMALL, "--norm", "batchnorm", "--act", "relu,tanh", "--json")
    assert ended.code == 5
    assert {run["config"]["act"]: run["status"] for run in json.loads(ended.out)["runs"]} == {
        "relu": "finished",
        "tanh": "failed",
    }


def test_ctrl_c_ends_a_run_as_interrupted_with_its_metrics_recorded(
    normbench: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def interrupt_later(*args: Any) -> tuple[Tensor, ...]:
        calls.append(1)
        if len(calls) == 30:
            raise KeyboardInterrupt
        return train_step(*args)

    monkeypatch.setattr("normbench_cli.engine.loop.train_step", interrupt_later)
    ended = normbench("train", *SMALL, "--data", "digits:size=8", "--epochs", "9", "--norm", "batchnorm", "-q")
    assert ended.code == 130
    (run,) = json.loads(normbench("runs", "list", "--json").out)["runs"]
    assert run["status"] == "interrupted"
    shown = json.loads(normbench("runs", "show", run["id"], "--json").out)
    assert "train/loss" in json.dumps(shown)


def test_piped_output_has_only_results_and_no_escape_codes(normbench: RunCommand) -> None:
    ended = normbench("train", *TINY, *SMALL, "--norm", "batchnorm")
    assert "\x1b" not in ended.out + ended.err
    assert "finished" in ended.out
    assert ended.err == ""


def test_a_custom_norm_may_read_values(normbench: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "looking.py").write_text(
        "from torch import nn\n"
        "class Looking(nn.Module):\n"
        "    '''Divides by the largest value, which it looks at.'''\n"
        "    def __init__(self, num_features: int):\n"
        "        super().__init__()\n"
        "    def forward(self, x):\n"
        "        return x / max(x.abs().max().item(), 1.0)\n"
    )
    (run,) = train(normbench, *SMALL, "--norm", "looking:Looking")
    assert run["status"] == "finished"


def test_a_model_that_does_not_fit_the_data_leaves_no_record(normbench: RunCommand, home: Path) -> None:
    ended = normbench("train", "--model", "vgg16", "--data", "digits:size=16", "-q")
    assert ended.code == 2
    assert "vgg16" in ended.err
    assert ended.err.count("\n") == 1
    assert not recorded_in(home)


@pytest.mark.slow
def test_an_interrupted_run_is_resumed_bit_for_bit(normbench: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    from normbench_cli.engine import checkpoint

    real = checkpoint.save

    def die_at_the_third(folder: Path, step: int, content: dict[str, Any]) -> Path:
        if content["epochs_done"] == 3:
            raise KeyboardInterrupt
        return real(folder, step, content)

    words = ["--data", "digits:size=8", "--epochs", "4", "--batch-size", "256", "--norm", "batchnorm", "-q", "--json"]
    monkeypatch.setattr(checkpoint, "save", die_at_the_third)
    assert normbench("train", *words).code == 130
    monkeypatch.setattr(checkpoint, "save", real)
    (cut,) = json.loads(normbench("runs", "list", "--json").out)["runs"]
    (resumed,) = json.loads(normbench("train", "--resume", cut["id"], "--json").out)["runs"]
    (whole,) = json.loads(normbench("train", *words).out)["runs"]
    for name in ("train/loss", "test/loss", "test/accuracy", "gradient_norm"):
        assert resumed["metrics"][name] == whole["metrics"][name]
    shown = json.loads(normbench("runs", "show", cut["id"], "--json").out)["runs"][0]
    assert [row["epoch"] for row in shown["curve"]] == [1, 2, 3, 4]
    assert normbench("train", "--resume", cut["id"]).code == 1
