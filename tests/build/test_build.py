"""What is left open is chosen for the device, and what is hardly meant is said."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from normbench_cli import build, device
from normbench_cli.config import make_config


def checked(**values: Any) -> Any:
    return build.check(make_config({"data": "digits", "device": "cpu", **values}))


@pytest.mark.parametrize(
    ("can", "amp"), [({}, "off"), ({"avx512_bf16": True}, "bf16"), ({"bf16": True}, "bf16"), ({"avx2": True}, "off")]
)
def test_precision_is_what_the_processor_is_fast_at(monkeypatch: pytest.MonkeyPatch, can: Any, amp: Any) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: can, raising=False)
    assert checked(amp="auto").amp == amp
    assert checked(amp="off").amp == "off"


def test_a_chosen_precision_is_part_of_what_a_run_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "fast_precision", lambda device: "bf16")
    assert checked(amp="auto").fingerprint() == checked(amp="bf16").fingerprint() != checked(amp="off").fingerprint()


def test_a_short_training_is_not_compiled_and_a_long_one_is_if_a_trial_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "has_compiler", lambda device: True)
    assert checked(epochs=3).compile is False
    assert checked(epochs=100_000).compile is None
    assert checked(epochs=100_000, compile=False).compile is False
    assert checked(epochs=3, compile=True).compile is True


def test_without_a_compiler_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "has_compiler", lambda device: False)
    assert checked(epochs=100_000).compile is False


@pytest.mark.parametrize("pays", [True, False])
def test_the_trial_takes_the_faster(monkeypatch: pytest.MonkeyPatch, pays: Any) -> None:
    from normbench_cli.measure.timing import Timing

    laps = {"as it is": [2.0], "compiled": [1.0 if pays else 3.0]}
    monkeypatch.setattr(build, "time_interleaved", lambda steps, *_, **__: [Timing(name, laps[name]) for name in steps])
    assert build.faster_compiled(checked(model="mlp:width=8")) == pays


@pytest.mark.parametrize(("model", "last"), [("resnet20", True), ("mlp", False)])
def test_channels_last_is_for_convolutions(model: Any, last: Any) -> None:
    assert checked(model=model).channels_last is last
    assert checked(model=model, channels_last=not last).channels_last is not last


@pytest.mark.parametrize(
    ("objective", "batch", "says"),
    [
        ("chi2_doro", 64, "no sample of a batch of 64; one from a batch of 100"),
        ("chi2_doro", 100, None),
        ("chi2_doro:eps=0", 8, None),
    ],
)
def test_a_share_of_no_sample_is_remarked(objective: Any, batch: Any, says: Any) -> None:
    found = list(build.remarks(make_config({"objective": objective, "batch_size": batch})))
    assert len(found) == (says is not None)
    assert says is None or says in found[0]
