"""A checkpoint is complete or does not exist, the last two are kept, and reading one runs no code."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from normbench_cli.engine import checkpoint
from normbench_cli.errors import NormbenchError

CPU = torch.device("cpu")


def save(folder: Path, step: int = 1) -> Path:
    return checkpoint.save(folder, step, {"model": {"w": torch.full((3,), float(step))}, "step": step})


def test_what_is_saved_is_loaded_and_the_last_two_are_kept(tmp_path: Path) -> None:
    for step in range(1, 6):
        save(tmp_path / "run", step)
    loaded, damaged = checkpoint.load(tmp_path / "run", CPU)
    assert loaded["step"] == 5
    assert damaged == []
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "checkpoint-000000004.pt",
        "checkpoint-000000005.pt",
    ]


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:200])


def flip_a_weight(path: Path) -> None:
    """torch itself would load this without an error."""
    content, value = path.read_bytes(), torch.full((3,), 2.0).numpy().tobytes()
    assert value in content
    path.write_bytes(content.replace(value, b"\1" + value[1:]))


@pytest.mark.parametrize("damage", [truncate, flip_a_weight])
def test_if_the_newest_checkpoint_is_damaged_the_former_is_loaded(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    save(tmp_path, 1)
    newest = save(tmp_path, 2)
    damage(newest)
    loaded, (line,) = checkpoint.load(tmp_path, CPU)
    assert loaded["step"] == 1
    assert str(newest) in line


def test_saving_removes_what_a_killed_process_left(tmp_path: Path) -> None:
    """A half-written file, old checkpoints that were to be removed, and damaged ones of later steps."""
    for step in (1, 2, 3, 7, 8):
        (tmp_path / f"checkpoint-{step:09d}.pt").write_bytes(b"")
    (tmp_path / "checkpoint-000000005.writing").write_bytes(b"half")
    kept = [tmp_path / "checkpoint-000000003.pt", save(tmp_path, 4)]
    assert sorted(tmp_path.iterdir()) == kept


def test_a_half_written_file_is_not_a_checkpoint(tmp_path: Path) -> None:
    save(tmp_path, 1)
    (tmp_path / "checkpoint-000000002.writing").write_bytes(b"half")
    assert checkpoint.load(tmp_path, CPU)[0]["step"] == 1


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", pickle.dumps(print)], ids=["empty", "text", "pickle"])
def test_damaged_checkpoints_give_one_clear_message(tmp_path: Path, content: bytes) -> None:
    for step in (1, 2):
        (tmp_path / f"checkpoint-{step}.pt").write_bytes(content)
    with pytest.raises(NormbenchError, match=r"damaged or not a normbench checkpoint.*records are kept"):
        checkpoint.load(tmp_path, CPU)


def test_a_checkpoint_that_would_run_code_is_refused_without_running_it(tmp_path: Path) -> None:
    trace = tmp_path / "trace"

    class Payload:
        def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, ...]]:
            return (open, (str(trace), "w"))

    torch.save({"model": Payload()}, tmp_path / "checkpoint-1.pt")
    with pytest.raises(NormbenchError, match="not a normbench checkpoint"):
        checkpoint.load(tmp_path, CPU)
    assert not trace.exists()


def test_a_missing_checkpoint_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NormbenchError, match="--rerun"):
        checkpoint.load(tmp_path, CPU)


@pytest.mark.parametrize("content", [{"weights": torch.ones(3)}, [torch.ones(3)]], ids=["no model", "no dictionary"])
def test_another_file_of_torch_is_no_checkpoint(tmp_path: Path, content: object) -> None:
    torch.save(content, path := tmp_path / "checkpoint-1.pt")
    with pytest.raises(NormbenchError, match="is not a normbench checkpoint"):
        checkpoint.read(path, CPU)


def test_tensors_are_loaded_onto_the_device(tmp_path: Path) -> None:
    save(tmp_path)
    loaded, _ = checkpoint.load(tmp_path, torch.device("meta"))
    assert loaded["model"]["w"].device.type == "meta"


def test_the_order_of_checkpoints_is_that_of_their_steps(tmp_path: Path) -> None:
    for step in (9, 10, 99, 100):
        save(tmp_path, step)
    loaded, _ = checkpoint.load(tmp_path, CPU)
    assert loaded["step"] == 100
    assert [path.stem for path in sorted(tmp_path.iterdir())] == ["checkpoint-000000099", "checkpoint-000000100"]
