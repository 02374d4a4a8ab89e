"""Offline runs, read back with wandb's own messages.

The reader of the file around them is compiled into wandb; Python gets at it only with an account.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.reporting.export import export_runs
from tests.reporting.export.conftest import ODD

pytest.importorskip("wandb", reason='needs pip install "normbench[wandb]"')


HEADER = 7  # bytes: of the file, and of each piece of a message: checksum, length, kind
BLOCK = 32768
WHOLE, LAST = 1, 4


def messages(data: bytes) -> Iterator[bytes]:
    """The messages in a file of LevelDB's log format, in which a message may be in several pieces."""
    at, message = HEADER, b""
    while at + HEADER <= len(data):
        if BLOCK - at % BLOCK < HEADER:  # the rest of a block is padding
            at += BLOCK - at % BLOCK
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        message += data[at + HEADER : at + HEADER + length]
        at += HEADER + length
        if kind in (WHOLE, LAST):
            yield message
            message = b""


def records(path: Path) -> list[Any]:
    from wandb.proto.wandb_internal_pb2 import Record

    return [Record.FromString(message) for message in messages(path.read_bytes())]


def values(items: Any) -> dict[str, Any]:
    return {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}


@pytest.mark.slow
def test_a_run_is_read_back_and_nothing_is_written_elsewhere(run_id: str, tmp_path: Path, home: Path) -> None:
    before = {path for path in Path.home().rglob("*wandb*") if path.is_dir()}
    for _ in range(2):
        export_runs([run_id], "wandb", tmp_path / "there")
    (file,) = (tmp_path / "there").rglob(f"run-{run_id}.wandb")
    found = records(file)
    config = values(next(record.run.config.update for record in found if record.HasField("run")))
    assert (config["norm"], config["lr"], config["compile"]) == ("popnorm:kappa=4", 0.1, False)
    history = [values(record.history.item) for record in found if record.HasField("history")]
    accuracy = [(row["epoch"], row["test/accuracy"]) for row in history if "test/accuracy" in row]
    assert accuracy == [(1, 0.25), (2, 0.5), (3, 0.75)]
    steps = [(row["step"], row["steps/train/loss"]) for row in history if "steps/train/loss" in row]
    assert steps == [(1, 10), (2, 11), (3, 20), (4, 21), (5, 30), (6, 31)]
    summary: dict[str, Any] = {}
    for record in found:
        if record.HasField("summary"):
            summary |= values(record.summary.update)
    assert summary[ODD] == 0.25
    assert {path for path in Path.home().rglob("*wandb*") if path.is_dir()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({"there", home.name})
