"""A full disk: one line with the file and the missing bytes, and everything that was recorded before stays whole.

A limit on the size of files stands for the disk: it fails in the same calls, with another error number.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from normbench_cli.engine import checkpoint
from normbench_cli.errors import NormbenchError
from tests.faults import largest_file
from tests.support import CommandResult, RunCommand

WORDS = ["train", "--model", "mlp", "--data", "digits:size=8", "--iterations", "2", "--batch-size", "64"]


def one_line(ended: CommandResult) -> str:
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1), ended
    return ended.err


def test_the_checkpoint_before_stays_and_the_missing_bytes_are_exact(tmp_path: Path) -> None:
    small, large = {"model": torch.zeros(10)}, {"model": torch.rand(100_000)}
    size = checkpoint.save(tmp_path / "there", 2, large).stat().st_size
    checkpoint.save(tmp_path / "run", 1, small)
    with largest_file(50_000), pytest.raises(NormbenchError) as error:
        checkpoint.save(tmp_path / "run", 2, large)
    path = tmp_path / "run" / "checkpoint-000000002.pt"
    assert str(error.value).startswith(f"{path} cannot be written: File too large ({size - 50_000:,} bytes missing)")
    found, damaged = checkpoint.load(tmp_path / "run", torch.device("cpu"))
    assert (found["model"].tolist(), damaged) == ([0.0] * 10, [])
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["checkpoint-000000001.pt"]


def test_a_run_whose_checkpoint_does_not_fit_goes_on_and_says_so_once(
    normbench: RunCommand, caplog: pytest.LogCaptureFixture
) -> None:
    with largest_file(300_000):
        ended = normbench(*WORDS, "--set", "checkpoint_minutes=0", "-q")
    assert ended.code == 0, ended.err
    first, last = [record.getMessage() for record in caplog.records if "checkpoint" in record.name]
    assert re.search(r"goes on without new checkpoints: .*-000000000\.pt cannot be written: File too large", first)
    assert re.search(r"has no final checkpoint: .*-000000002\.pt cannot be .* \([\d,]+ bytes missing\)", last)
    assert "sound" in normbench("db", "check").out
    assert " finished " in normbench("runs", "list").out


def test_a_database_that_cannot_be_written_is_not_called_damaged(
    normbench: RunCommand, enter: Callable[..., str], home: Path
) -> None:
    enter(0.5)
    with largest_file(1000):
        for words in (WORDS, ["db", "check"], ["runs", "list"], ["db", "backup", "copy.db"]):
            line = one_line(normbench(*words, "-q"))
            assert f"the database {home / 'normbench.db'} could not be written" in line
            assert "restore" not in line
    with largest_file(60_000):  # enough to open the database, not for a copy of it
        assert "bytes missing" in one_line(normbench("db", "backup", "copy.db"))
    assert not Path("copy.db").exists()
    assert "sound" in normbench("db", "check").out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_output_that_does_not_fit_is_an_error(normbench: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w") as full, monkeypatch.context() as patch:
        patch.setattr("sys.stdout", full)
        ended = normbench("list", "norms")
    assert ended.code == 1
    assert "the output cannot be written: No space left on device" in ended.err
