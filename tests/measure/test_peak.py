"""Peak memory is measured in a process of its own: to the megabyte, and without end where there is none left."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from normbench_cli.measure.cases import LayerCase
from normbench_cli.measure.peak import Peak, PeakProcess

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the resident size is read from /proc")
MEGABYTE = 10**6
LAYERS = """
import os, signal
import torch
from torch import nn

class Allocates(nn.Module):
    def __init__(self, num_features: int, megabytes: int = 0):
        super().__init__()
        self.values = megabytes * 250_000

    def forward(self, x):
        return x + torch.ones(self.values)[:1] if self.values else x

class Fails(nn.Module):
    def __init__(self, num_features: int):
        super().__init__()

    def forward(self, x):
        raise ValueError("not today.  Perhaps tomorrow")

class Dies(Fails):
    def forward(self, x):
        print("a layer may print")
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def peaks(tmp_path: Path) -> Iterator[PeakProcess]:
    (tmp_path / "peaklayers.py").write_text(LAYERS)
    with PeakProcess() as process:
        yield process


@pytest.mark.slow
def test_a_layer_that_allocates_400_megabytes_a_failing_one_and_one_that_is_killed(peaks: PeakProcess) -> None:
    case = LayerCase((1000, 250))  # a tensor is a megabyte
    found = peaks.measure("peaklayers:Allocates:megabytes=400", case).bytes
    assert found is not None
    assert found == pytest.approx(401 * MEGABYTE, rel=0.05)
    assert peaks.measure("none", case).bytes == pytest.approx(0, abs=MEGABYTE)
    failed = peaks.measure("peaklayers:Fails", case)
    assert (failed.status, failed.message) == ("failed", "ValueError: not today")
    assert peaks.measure("peaklayers:Dies", case) == Peak(None, "oom", "the process ended with -9")
    assert peaks.measure("none", LayerCase((2**30, 2**20))).status == "oom"


def test_a_process_that_is_never_asked_is_never_started() -> None:
    with PeakProcess() as process:
        pass
    assert process._process is None
