"""Which profiles measure the same: on a CPU as ever, on a GPU also how it is set and limited."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from normbench_cli.experiments.details import details_of
from normbench_cli.experiments.profiling.identity import profile_fingerprint
from normbench_cli.experiments.profiling.plan import plan_profile

FACTS = {
    "device_name": "a processor",
    "device": "cpu",
    "threads": 2,
    "versions": {"torch": "2.13.0"},
    "git_dirty": False,
}
SHAPES = [(8, 4, 6, 6)]


def fingerprint(facts: dict[str, Any] | None = None, changes: dict[str, Any] | None = None, **options: Any) -> str:
    options["settings"] = {"device": "cpu", **options.get("settings", {})}
    plan = plan_profile(["popnorm"], **options)
    config = replace(plan.configs[2], **(changes or {}))
    return profile_fingerprint(details_of(config, FACTS)[0], config, plan, FACTS | (facts or {}))


@pytest.mark.parametrize(
    ("options", "recorded"),
    [
        ({"only": "layers", "shapes": SHAPES}, "5963e3bf8313b4e7"),
        (
            {"only": "layers", "shapes": SHAPES, "calls": ["compiled"], "memory_formats": ["channels_last"]},
            "c60ef35c547d8d54",
        ),
        ({"only": "model", "settings": {"model": "mlp"}}, "2874d2a39f22ebfd"),
        (
            {"only": "layers", "shapes": SHAPES, "settings": {"tf32": "all", "cudnn_benchmark": True}},
            "5963e3bf8313b4e7",
        ),
    ],
)
def test_on_a_cpu_profiles_are_those_that_were_recorded(options: dict[str, Any], recorded: str) -> None:
    assert fingerprint(**options) == recorded


def test_determinism_counts_on_a_cpu_too() -> None:
    assert fingerprint(only="layers", shapes=SHAPES, settings={"deterministic": True}) != "5963e3bf8313b4e7"


@pytest.mark.parametrize(
    ("facts", "changes"),
    [
        ({"flags": {"tf32_conv": False}}, {}),
        ({"limits": {"power_limit_w": 250}}, {}),
        ({"driver": "CUDA 13.0"}, {}),
        ({}, {"tf32": "all"}),
        ({}, {"cudnn_benchmark": True}),
        ({}, {"deterministic": True}),
        ({}, {"compile_mode": "reduce-overhead"}),
        ({}, {"channels_last": True}),
    ],
)
def test_on_a_gpu_everything_that_changes_its_speed_counts(facts: dict[str, Any], changes: dict[str, Any]) -> None:
    usual = {"flags": {"tf32_conv": True}, "limits": {"power_limit_w": 300}, "driver": "CUDA 12.8"}
    options: dict[str, Any] = {"only": "layers", "shapes": SHAPES}
    plain = fingerprint(usual, **options)
    assert plain == fingerprint(usual, **options)
    assert fingerprint(usual | facts, changes, **options) != plain
