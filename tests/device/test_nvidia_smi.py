"""What nvidia-smi says of a GPU, said here by a program of that name."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from normbench_cli.device import GpuState, busy_gpu, gpu_state, limits, nvidia_smi

GPU = torch.device("cuda")
SAYS = "1410, 1980, [N/A], 250.00, 300.00, 61, 0x0000000000000024"
Answer = Callable[..., None]
PROGRAM = """#!/bin/sh
echo "$@" >> {log}
case "$1" in
  --query-compute-apps=pid) printf '%b' "{pids}" ;;
  *{unknown}*) echo 'Field "{unknown}" is not a valid field to query.'; exit 2 ;;
  *) echo "{says}" ;;
esac
"""


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Makes an nvidia-smi that answers so; what it was asked is in the file `asked`."""
    monkeypatch.setattr(nvidia_smi, "_identifier", lambda device: "GPU-1f")
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(torch.accelerator, "max_memory_allocated", lambda device: 0)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def answer(says: str = SAYS, pids: str = "", unknown: str = "nothing") -> None:
        program = tmp_path / "nvidia-smi"
        program.write_text(PROGRAM.format(log=tmp_path / "asked", pids=pids, unknown=unknown, says=says))
        program.chmod(0o755)

    return answer


def test_clocks_power_and_reasons_are_read(answers: Answer, tmp_path: Path) -> None:
    answers()
    state = gpu_state(GPU)
    assert state == GpuState(1410, 1980, None, 250, 300, 61, ("power limit", "heat"), 0)
    assert limits(state) == {"max_clock_mhz": 1980, "application_clock_mhz": None, "power_limit_w": 250}
    asked = (tmp_path / "asked").read_text().splitlines()
    assert all("--format=csv,noheader,nounits --id=GPU-1f" in line for line in asked)
    assert not any(word in line for line in asked for word in ("-lgc", "-pl", "-pm"))


def test_an_older_driver_knows_the_reasons_by_another_name(answers: Answer) -> None:
    answers(unknown="clocks_event_reasons.active")
    state = gpu_state(GPU)
    assert state is not None
    assert state.slowed_by == ("power limit", "heat")


@pytest.mark.parametrize(
    ("pids", "allocated", "others"),
    [
        ("", 0, 0),
        ("11\\n12\\n", 0, 2),
        ("11\\nOWN\\n", 512, 1),
        ("11\\n12\\n", 512, 1),  # in a container this process is listed under another number
    ],
)
def test_this_process_is_not_among_the_others(
    answers: Answer, monkeypatch: pytest.MonkeyPatch, pids: str, allocated: int, others: int
) -> None:
    answers(pids=pids.replace("OWN", str(os.getpid())))
    monkeypatch.setattr(torch.accelerator, "max_memory_allocated", lambda device: allocated)
    state = gpu_state(GPU)
    assert state is not None
    assert state.others == others


def test_without_an_answer_nothing_is_known(answers: Answer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert gpu_state(torch.device("cpu")) is None
    answers(unknown="active")  # neither name is known
    assert gpu_state(GPU) is None
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert gpu_state(GPU) is None
    assert limits(None) == {}


def test_the_gpu_is_busy_while_it_is_looked_at_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[torch.device] = []
    monkeypatch.setattr(nvidia_smi, "SIDE", 2)
    monkeypatch.setattr(nvidia_smi, "WARM_UP", 0.02)
    monkeypatch.setattr(torch.accelerator, "synchronize", waited.append)
    device = torch.device("cpu")
    with pytest.raises(KeyError), busy_gpu(device):
        raise KeyError
    ended = len(waited)
    assert set(waited) == {device}
    time.sleep(0.02)
    assert len(waited) == ended
