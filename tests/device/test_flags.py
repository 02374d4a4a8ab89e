"""torch's settings for a device: set for a run, restored afterwards, and what cannot be deterministic in one line."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import pytest
import torch

from normbench_cli.device import (
    Flags,
    flag_facts,
    flags,
    matmul_precision,
    naming_what_is_not_deterministic,
    torch_flags,
)
from normbench_cli.errors import NormbenchError, UsageError

CPU, GPU = torch.device("cpu"), torch.device("cuda")  # a name alone needs no GPU
EVERY = [
    Flags(tf32, benchmark, deterministic)
    for tf32 in ("off", "conv", "all")
    for benchmark, deterministic in ((False, False), (True, False), (False, True))
]


@pytest.fixture(autouse=True)
def without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flags, "multiply", lambda device: None)
    monkeypatch.delenv(flags.WORKSPACE, raising=False)


def state() -> dict[str, Any]:
    """All that a run may set, by torch's older readers and its newer ones.  None of them may contradict another."""
    backends: Any = torch.backends
    return {
        "products": torch.get_float32_matmul_precision(),
        "older": (backends.cuda.matmul.allow_tf32, backends.cudnn.allow_tf32),
        "newer": [of.fp32_precision for of in (backends.cuda.matmul, backends.mkldnn.matmul, backends.cudnn.conv)],
        "cudnn": (backends.cudnn.benchmark, backends.cudnn.deterministic),
        "deterministic": (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        ),
        "workspace": os.environ.get(flags.WORKSPACE),
    }


@pytest.mark.parametrize("given", EVERY, ids=str)
def test_flags_hold_in_their_block_and_are_restored_even_after_an_error(given: Flags) -> None:
    before = state()
    with suppress(KeyError), torch_flags(given, GPU):
        inside, facts = state(), flag_facts(GPU)
        raise KeyError
    assert inside["older"] == (given.tf32 == "all", given.tf32 != "off")
    assert inside["products"] == ("high" if given.tf32 == "all" else "highest")
    assert inside["cudnn"] == (given.cudnn_benchmark, given.deterministic)
    assert inside["deterministic"] == (given.deterministic, False)
    assert inside["workspace"] == (":4096:8" if given.deterministic else None)
    assert (facts["tf32_matmul"], facts["tf32_conv"]) == inside["older"]
    assert (facts["cudnn_benchmark"], facts["cudnn_deterministic"]) == inside["cudnn"]
    assert state() == before


def test_what_was_set_before_is_set_again() -> None:
    with torch_flags(Flags("all", cudnn_benchmark=True), GPU):
        before = state()
        with torch_flags(Flags("off", deterministic=True), GPU):
            assert state() != before
        assert state() == before


def test_switches_of_which_torch_says_that_they_contradict_each_other_are_restored_too() -> None:
    backends: Any = torch.backends
    operations = (backends.cuda.matmul, backends.mkldnn.matmul, backends.cudnn.conv, backends.cudnn.rnn)
    before = [of.fp32_precision for of in operations]
    try:
        backends.cuda.matmul.fp32_precision, backends.cudnn.conv.fp32_precision = "tf32", "ieee"
        with pytest.raises(RuntimeError, match="mix of the legacy and new APIs"):
            torch.get_float32_matmul_precision()
        mixed = [of.fp32_precision for of in operations]
        with torch_flags(Flags("conv"), GPU):
            assert (matmul_precision(), flag_facts(GPU)["tf32_conv"]) == ("highest", True)
        assert [of.fp32_precision for of in operations] == mixed
        assert matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")
        for of, precision in zip(operations, before, strict=True):
            of.fp32_precision = precision


def test_on_a_cpu_only_determinism_means_something() -> None:
    before = state()
    with torch_flags(Flags("all", cudnn_benchmark=True), CPU):
        assert state() == before
    with torch_flags(Flags(deterministic=True), CPU):
        assert state() == before | {"deterministic": (True, False)}
    assert flag_facts(CPU) == {}


def test_a_workspace_that_repeats_is_kept_and_another_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    for given, inside in ((":16:8", ":16:8"), (":4096:2", ":4096:8")):
        monkeypatch.setenv(flags.WORKSPACE, given)
        with torch_flags(Flags(deterministic=True), GPU):
            assert os.environ[flags.WORKSPACE] == inside == flag_facts(GPU)[flags.WORKSPACE]
        assert os.environ[flags.WORKSPACE] == given


def test_determinism_that_comes_too_late_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch says so at the first product."""

    def product(device: torch.device) -> None:
        raise RuntimeError("Deterministic behavior was enabled ... you must set CUBLAS_WORKSPACE_CONFIG=:4096:8")

    monkeypatch.setattr(flags, "multiply", product)
    before = state()
    with (
        pytest.raises(UsageError, match="set CUBLAS_WORKSPACE_CONFIG=:4096:8 and start again"),
        torch_flags(Flags(deterministic=True), GPU),
    ):
        pass
    assert state() == before


def test_an_operation_that_is_not_deterministic_is_named_in_one_line() -> None:
    with (
        pytest.raises(NormbenchError, match=r"^put_ cannot be deterministic on this device; drop --deterministic"),
        torch_flags(Flags(deterministic=True), CPU),
        naming_what_is_not_deterministic(),
    ):
        torch.zeros(4).put_(torch.tensor([0, 0]), torch.ones(2))


def test_other_errors_stay_as_they_are() -> None:
    with pytest.raises(RuntimeError, match=r"^anything else$"), naming_what_is_not_deterministic():
        raise RuntimeError("anything else")
