"""What a configuration leaves open is decided for its device, once, and what is probably not meant is warned of."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from normbench_cli import build
from normbench_cli.build import ResolvedConfig, resolution, resolve, resolved_fingerprint
from normbench_cli.build.compile_trial import compile_pays_off
from normbench_cli.config import RunConfig, make_config
from normbench_cli.device import compilers
from normbench_cli.engine.events import Notice
from normbench_cli.errors import UsageError
from normbench_cli.experiments.identity import fingerprint_of
from normbench_cli.measure.timing import Timing


def config(**values: Any) -> RunConfig:
    return make_config({"data": "digits", "device": "cpu", **values})


def resolved(**values: Any) -> ResolvedConfig:
    return resolve(config(**values), trial=None)


@pytest.mark.parametrize(
    ("capabilities", "amp"),
    [({}, "off"), ({"avx512_bf16": True}, "bf16"), ({"bf16": True}, "bf16"), ({"avx2": True}, "off")],
)
def test_amp_auto_is_what_the_processor_is_fast_at(
    monkeypatch: pytest.MonkeyPatch, capabilities: dict[str, bool], amp: str
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    assert resolved(amp="auto").amp == amp
    assert resolved(amp="off").amp == "off"


def test_the_precision_that_auto_comes_to_is_part_of_the_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True}, raising=False)
    assert resolved(amp="auto").fingerprint() == resolved(amp="bf16").fingerprint() != resolved().fingerprint()


@pytest.mark.parametrize("values", [{}, {"amp": "auto"}, {"amp": "bf16"}, {"compile": True}, {"channels_last": False}])
def test_the_fingerprint_is_known_without_resolving(values: dict[str, Any]) -> None:
    assert resolved_fingerprint(config(**values)) == resolved(**values).fingerprint()


def test_what_means_nothing_on_a_cpu_is_left_out_with_a_notice_and_changes_no_fingerprint() -> None:
    notices: list[Notice] = []
    asked = config(tf32="all", compile_mode="reduce-overhead", cudnn_benchmark=True, device="cpu")
    found = resolve(asked, notices.append, trial=None)
    assert (found.tf32, found.compile_mode, found.cudnn_benchmark) == ("conv", "default", False)
    assert found.fingerprint() == fingerprint_of(asked, {}) == config().fingerprint()
    assert [notice.text.partition(" is ")[0] for notice in notices] == ["tf32", "compile_mode", "cudnn_benchmark"]


def test_on_a_gpu_what_is_asked_for_stays_and_tf32_is_part_of_the_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolution, "takes_flags", lambda device: True)
    found = resolve(config(tf32="off", compile_mode="reduce-overhead"), trial=None)
    assert (found.tf32, found.compile_mode) == ("off", "reduce-overhead")
    assert found.fingerprint() != config().fingerprint() == config(compile_mode="reduce-overhead").fingerprint()


@pytest.mark.parametrize("pays", [True, False])
def test_only_a_long_training_that_leaves_it_open_is_tried_compiled(
    monkeypatch: pytest.MonkeyPatch, pays: bool
) -> None:
    monkeypatch.setattr(compilers, "has_compiler", lambda device: True)

    def tried(**values: Any) -> tuple[bool | None, list[Notice]]:
        notices: list[Notice] = []
        return resolve(config(**values), notices.append, trial=lambda config: pays).compile, notices

    compiled, notices = tried(epochs=100_000)
    assert compiled is pays
    assert [notice.text[:26] for notice in notices] == ["trying whether compiling t"]
    assert tried(epochs=3) == (False, [])
    assert tried(epochs=100_000, compile=False) == (False, [])
    assert tried(epochs=3, compile=True) == (True, [])


def test_without_a_compiler_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilers, "has_compiler", lambda device: False)
    assert resolve(config(epochs=100_000), trial=lambda config: True).compile is False


@pytest.mark.parametrize("pays", [True, False])
def test_the_faster_of_the_trial_is_chosen(pays: bool) -> None:
    def timer(steps: dict[str, Any], *args: Any, **kwargs: Any) -> list[Timing]:
        return [Timing(name, [2.0 if name == "as written" else 1.0 if pays else 3.0]) for name in steps]

    assert compile_pays_off(resolved(model="mlp:width=8"), timer) is pays


@pytest.mark.parametrize(("model", "last"), [("resnet20", True), ("mlp", False)])
def test_channels_last_is_for_models_that_convolve(model: str, last: bool) -> None:
    assert resolved(model=model).channels_last is last
    assert resolved(model=model, channels_last=not last).channels_last is not last


def test_a_resolved_configuration_leaves_nothing_open() -> None:
    chosen = resolved().to_dict()
    for open_setting in ({"amp": "auto"}, {"compile": None}, {"channels_last": None}):
        with pytest.raises(TypeError, match="leaves nothing open"):
            ResolvedConfig(**chosen | open_setting)


def test_resolving_again_changes_nothing() -> None:
    assert resolve(resolved(amp="auto")) == resolved(amp="auto")


def test_runs_that_differ_in_their_seed_share_one_meta_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    real = build.make_model

    def counting(config: RunConfig, data: Any) -> torch.nn.Module:
        made.append(config.model)
        return real(config, data)

    monkeypatch.setattr("normbench_cli.build.resolution.make_model", counting)
    for seed in range(5):
        resolved(model="mlp:width=9", seed=seed, lr=0.1 / (seed + 1))
    assert made == ["mlp:width=9"]


@pytest.mark.parametrize(
    ("objective", "batch", "says"),
    [
        ("chi2_doro", 64, "no example of a batch of 64; give a batch of at least 100"),
        ("chi2_doro", 100, None),
        ("chi2_doro:eps=0", 8, None),
    ],
)
def test_a_fraction_of_less_than_one_example_is_warned_of(objective: str, batch: int, says: str | None) -> None:
    found = list(build.config_warnings(config(objective=objective, batch_size=batch)))
    assert len(found) == (says is not None)
    if says is not None:
        assert says in found[0]


def test_more_than_the_training_set_is_no_batch() -> None:
    with pytest.raises(UsageError, match="1437 examples to train with"):
        resolved(batch_size=1438)
