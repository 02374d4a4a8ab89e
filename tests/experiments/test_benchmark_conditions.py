"""What disturbs a benchmark is said in a line, with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from normbench_cli.device import GpuState
from normbench_cli.experiments import benchmark_conditions, doctor
from normbench_cli.experiments.benchmark_conditions import clock, conditions, float32, governor, power, processes

QUIET = GpuState(1980, 1980, None, 300, 300, 61, (), 0)


@pytest.fixture
def processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(benchmark_conditions, "PROCESSORS", tmp_path)
    return tmp_path


def set_governors(processors: Path, *names: str) -> None:
    for number, name in enumerate(names):
        folder = processors / f"cpu{number}" / "cpufreq"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "scaling_governor").write_text(f"{name}\n")


def test_the_governor_of_the_processors(processors: Path) -> None:
    assert governor() is None
    set_governors(processors, "performance", "performance")
    assert governor() == ("governor performance", "")
    set_governors(processors, "performance", "powersave")
    assert governor() == (
        "governor performance, powersave",
        "for a steady one: sudo cpupower frequency-set -g performance",
    )


def test_a_gpu_of_which_nothing_disturbs() -> None:
    assert processes(QUIET) == ("no other processes", "")
    assert clock(QUIET) == ("1980 of 1980 MHz under load", "")
    assert power(QUIET) == ("limit 300 W", "")


def test_a_gpu_that_is_shared_slowed_and_limited() -> None:
    state = GpuState(1410, 1980, None, 250, 300, 61, ("power limit", "heat"), 2)
    assert processes(state) == (
        "2 other processes",
        "end them, or wait: times and free memory depend on them (nvidia-smi lists them)",
    )
    assert clock(state) == (
        "1410 of 1980 MHz under load (power limit, heat)",
        "to fix it: sudo nvidia-smi -lgc 1410, undone by -rgc",
    )
    assert power(state) == ("limit 250 W of 300 W", "sudo nvidia-smi -pl 300 gives all of it")


def test_what_is_not_told_has_no_line() -> None:
    assert (processes(GpuState()), clock(GpuState()), power(GpuState())) == (None, None, None)


def test_nvidias_own_switch_for_tf32_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NVIDIA_TF32_OVERRIDE", raising=False)
    assert float32()[0] == "TF32 in convolutions, as torch by default"
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "0")
    assert float32()[0] == "full precision, because of NVIDIA_TF32_OVERRIDE=0"


@pytest.mark.parametrize("state", [QUIET, None])
def test_doctor_looks_at_a_gpu_while_it_is_busy(
    processors: Path, monkeypatch: pytest.MonkeyPatch, state: GpuState | None
) -> None:
    order: list[str] = []

    @contextmanager
    def busy(device: torch.device) -> Iterator[None]:
        order.append("busy")
        yield
        order.append("idle")

    def look(device: torch.device) -> GpuState | None:
        order.append("looked")
        return state

    monkeypatch.setattr(benchmark_conditions, "takes_flags", lambda device: True)
    monkeypatch.setattr(benchmark_conditions, "busy_gpu", busy)
    monkeypatch.setattr(benchmark_conditions, "gpu_state", look)
    found = doctor.check_conditions()
    assert order == ["busy", "looked", "idle"]
    told = {"GPU's processes", "GPU's clock", "GPU's power"} if state else {"GPU's state"}
    assert set(found) == {"GPU's float32"} | told
    assert all(finding.ok for finding in found.values())


def test_on_a_cpu_nothing_is_said_of_a_gpu(processors: Path) -> None:
    assert conditions(torch.device("cpu")) == {}
