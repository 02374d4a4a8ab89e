"""Checkpoints are whole or not there, and reading one runs nobody's code."""

from __future__ import annotations

import pickle

import pytest
import torch

from normbench_cli.engine import checkpoint
from normbench_cli.errors import NormbenchError

CPU = torch.device("cpu")


def test_what_is_saved_is_loaded(tmp_path):
    checkpoint.save(tmp_path / "run", {"model": {"w": torch.arange(3)}, "config": {"lr": 0.1}})
    loaded = checkpoint.load(tmp_path / "run", CPU)
    assert torch.equal(loaded["model"]["w"], torch.arange(3))
    assert [path.name for path in (tmp_path / "run").iterdir()] == [checkpoint.NAME]


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", pickle.dumps(print)])
def test_a_damaged_checkpoint_is_one_clear_line(tmp_path, content):
    (tmp_path / checkpoint.NAME).write_bytes(content)
    with pytest.raises(NormbenchError, match="damaged or not one of ours"):
        checkpoint.load(tmp_path, CPU)


def test_a_checkpoint_that_would_run_code_is_refused_without_running_it(tmp_path):
    trace = tmp_path / "trace"

    class Payload:
        def __reduce__(self):
            return (open, (str(trace), "w"))

    torch.save({"model": Payload()}, tmp_path / checkpoint.NAME)
    with pytest.raises(NormbenchError, match="not one of ours"):
        checkpoint.load(tmp_path, CPU)
    assert not trace.exists()


def test_a_missing_checkpoint_says_what_to_do(tmp_path):
    with pytest.raises(NormbenchError, match="--rerun"):
        checkpoint.load(tmp_path, CPU)
