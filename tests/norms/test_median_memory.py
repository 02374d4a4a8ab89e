"""What norms with a robust center need in memory: no more than batch norm, but for a few values a channel."""

from __future__ import annotations

import sys

import pytest
import torch

from normbench_cli.measure.cases import LayerCase
from normbench_cli.measure.memory import saved_activation_bytes
from normbench_cli.measure.peak import PeakProcess
from normbench_cli.registry import NORMS

FORMATS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}
MORE = 1.05  # times batch norm's
SPECS = ["augnorm", "augnorm:phi=1.2", "augnorm:phi=3", "augnorm:tol=exact", "diffphi", "mediannorm", "popnorm"]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("spec", SPECS)
def test_a_layer_saves_what_batch_norm_saves(spec: str, name: str) -> None:
    x = torch.randn(8, 4, 16, 16).contiguous(memory_format=FORMATS[name]).requires_grad_()
    layer, plain = (NORMS.build(each, num_features=4) for each in (spec, "batchnorm"))
    allowed = MORE * saved_activation_bytes(lambda: plain(x), plain)
    assert 0 < saved_activation_bytes(lambda: layer(x), layer) <= allowed


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the resident size is read from /proc")
@pytest.mark.parametrize(
    ("name", "call", "specs"),
    [
        ("contiguous", "layer", SPECS[:2]),
        ("channels_last", "layer", SPECS[:2]),
        ("contiguous", "layer", ["diffphi", "augnorm:tol=exact"]),
        ("contiguous", "compiled", SPECS[:1]),
    ],
)
def test_a_step_needs_no_more_at_its_peak_than_batch_norms(name: str, call: str, specs: list[str]) -> None:
    case = LayerCase((128, 64, 32, 32), memory_format=name, call=call)
    with PeakProcess() as process:
        peaks = {spec: process.measure(spec, case) for spec in ("batchnorm", *specs)}
    found = {spec: peak.bytes or sys.maxsize for spec, peak in peaks.items()}
    assert not {spec: peak for spec, peak in peaks.items() if peak.status != "ok"}
    assert found["batchnorm"] > case.tensor_bytes  # of y and dx at least one
    assert not {spec: each / found["batchnorm"] for spec, each in found.items() if each > MORE * found["batchnorm"]}
