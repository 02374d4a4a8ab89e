"""The parameters of every norm with their default values, as documented: results of a bare name depend on them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from normbench_cli.registry import NORMS

SAMPLE_NORM = {"eps": 1e-5, "affine": True}
BATCH_NORM = {**SAMPLE_NORM, "momentum": 0.1}
DEFAULTS: dict[str, dict[str, Any]] = {
    "auggraphnorm": {"phi": 1.5, "eps": 1e-6, "learn_phi": False, "solver": "safe", "tol": 0.02},
    "augnorm": {**BATCH_NORM, "phi": 1.5, "solver": "safe", "tol": 0.02},
    "batchnorm": BATCH_NORM,
    "centeredweightnorm": {"scale": 1.414, "learn_scale": False},
    "diffphi": {**BATCH_NORM, "init": 1.5, "low": 1.2, "high": 2.0, "solver": "safe", "tol": 0.02},
    "graphnorm": {"eps": 1e-6, "affine": True},
    "groupnorm": {**SAMPLE_NORM, "groups": None},
    "instancenorm": SAMPLE_NORM,
    "layernorm": SAMPLE_NORM,
    "mediannorm": BATCH_NORM,
    "none": {},
    "popnorm": {
        "kappa": 4.0, "remove": "mean", "divide": "l2", "order": "remove_first", "stats": "batch", "groups": None,
        "eps": 1e-5, "momentum": 0.1,
    },
    "spectralnorm": {"iterations": 1, "eps": 1e-12},
    "weightnorm": {},
    "weightstandardization": {"form": "official"},
}  # fmt: skip
DATA_NORMS = [name for name, entry in NORMS.entries.items() if name in DEFAULTS and entry.facts.placement != "weight"]
START = {  # what a layer holds before training
    "weight": 1, "bias": 0, "alpha": 1, "running_mean": 0, "running_var": 1, "running_scale": 1,
    "num_batches_tracked": 0, "start": 0, "record": 0,
    "center": 0, "largest_error": 0, "failures": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", NORMS.choices())
def test_every_norm_has_its_documented_defaults(name: str) -> None:
    assert {key: found.default for key, found in NORMS.entries[name].parameters.items()} == DEFAULTS[name]


@pytest.mark.parametrize("name", DATA_NORMS)
def test_a_built_layer_has_the_defaults_or_the_given_values(name: str) -> None:
    given = {key: value for key, value in (("eps", 0.25), ("momentum", 0.75)) if key in DEFAULTS[name]}
    plain, other = (NORMS.build(name, num_features=4, **options) for options in ({}, given))
    for key, value in given.items():
        assert (getattr(plain, key), getattr(other, key)) == (DEFAULTS[name][key], value)


@pytest.mark.parametrize("spec", [*DATA_NORMS, "popnorm:divide=l1"])
def test_a_new_layer_starts_with_the_values_of_torchs_layers(spec: str) -> None:
    layer = NORMS.build(spec, num_features=4)
    for key, value in [*layer.named_parameters(), *layer.named_buffers()]:
        if key != "phi_raw":
            assert torch.equal(value, torch.full_like(value, START[key])), key
