"""A configuration checks itself, is canonical, and its fingerprint covers what matters and nothing else."""

from __future__ import annotations

import pytest

from normbench_cli.config import FIELDS, make_config
from normbench_cli.errors import UsageError


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"epochs": "0"}, "epochs is 0"),
        ({"iterations": "-1"}, "iterations is -1"),
        ({"epochs": "1", "iterations": "1"}, "both epochs and iterations"),
        ({"lr": "nan"}, "lr is nan"),
        ({"lr": "0"}, "lr is 0"),
        ({"lr": "inf"}, "lr is inf"),
        ({"momentum": "1"}, "momentum is 1"),
        ({"weight_decay": "-1"}, "weight_decay is -1"),
        ({"batch_size": "0"}, "batch_size is 0"),
        ({"batch_size": "1"}, "statistics over the batch"),
        ({"seed": str(2**31)}, "seed is"),
        ({"tf32": "on"}, "not one of off, conv, all"),
        ({"deterministic": "1", "cudnn_benchmark": "1"}, "drop --cudnn-benchmark or --deterministic"),
        ({"amp": "fp8"}, "not one of auto, off"),
        ({"optimizer": "sdg"}, "did you mean 'sgd'"),
        ({"colour": "red"}, "no setting 'colour'"),
        ({"workers": "many"}, "not a whole number"),
        ({"schedule": "cosin"}, "did you mean 'cosine'"),
        ({"norm": "bn+gn"}, "joins two norms of data"),
        ({"folds": "5"}, "digits has its own test set; drop --folds"),
        ({"model": "gcn"}, "data 'digits' are images, which gcn cannot take; use densenet121"),
        ({"data": "mutag", "model": "gcn", "folds": "1"}, "folds is 1; give 2 or more"),
        ({"data": "mutag", "model": "gcn", "folds": "-1"}, "folds is -1; give 2 or more"),
        ({"data": "mutag", "model": "gcn", "iterations": "9"}, "is counted in epochs"),
        ({"data": "mutag", "model": "gcn", "amp": "bf16"}, "amp is bf16, which cross-validation does not support"),
        ({"data": "mutag", "model": "gcn", "compile": "yes"}, "compile is on, which cross-validation does not"),
        ({"data": "mutag", "model": "gcn", "init": "xavier"}, "models for graphs initialize themselves"),
        ({"data": "mutag", "model": "gcn", "gamma_init": "2"}, "gamma_init is 2.0, which cross-validation does not"),
        ({"init_gain": "0"}, "init_gain is 0"),
    ],
)
def test_what_cannot_work_is_refused(values: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        make_config(values)


def test_batch_of_one_is_fine_without_batch_statistics() -> None:
    for norm in ("none", "groupnorm", "popnorm:stats=instance"):
        assert make_config({"batch_size": 1, "norm": norm}).batch_size == 1


@pytest.mark.parametrize(
    ("values", "fingerprint"),
    [
        ({}, "0ec6edff02d1792f"),
        ({"norm": "ws+gn:groups=8"}, "1006bffb2190a788"),
        ({"act": "leaky_relu:negative_slope=0.2"}, "45885818cfbffb55"),
        ({"schedule": "cosine:stairs=30"}, "87bb37807511e049"),
        ({"norm": "popnorm:divide=none,kappa=1", "recipe": "popnorm-cifar"}, "f1454804b0cd17ba"),
        ({"data": "mutag", "model": "gcn"}, "6436517dceccc25e"),
    ],
)
def test_fingerprints_are_those_of_recorded_runs(values: dict[str, str], fingerprint: str) -> None:
    assert make_config(values).fingerprint() == fingerprint


def test_the_fingerprint_of_data_and_revisions_is_that_of_recorded_runs() -> None:
    parts = {"data": "880cfc687c164600", "revisions": {"model": 1}}
    assert make_config({"data": "cifar10"}).fingerprint(parts) == "0fbe49bc8d9be6f3"


def test_aliases_and_defaults_do_not_change_the_fingerprint() -> None:
    plain = make_config({})
    assert make_config({"norm": "bn:eps=1e-5", "lr": "0.3", "seed": "0"}).fingerprint() == plain.fingerprint()


CHANGES = {
    "norm": "none", "act": "tanh", "model": "resnet20:option=B", "data": "digits:size=8", "epochs": "3",
    "objective": "cvar", "batch_size": "8",
    "optimizer": "adam", "lr": "0.2", "momentum": "0", "weight_decay": "0", "schedule": "linear", "init": "torch",
    "gamma_init": "0.5", "beta_init": "0.5", "weight_decay_on": "weights",
    "seed": "1", "amp": "bf16", "iterations": "5",
    "device": "cpu", "compile": "true", "channels_last": "false", "workers": "2", "tag": "a", "note": "b",
    "tf32": "all", "compile_mode": "reduce-overhead", "cudnn_benchmark": "true", "deterministic": "true",
    "pin_memory": "false",
    "probes": "2", "checkpoint_epochs": "7", "checkpoint_minutes": "3", "recipe": "digits",
    "init_gain": "2", "validation": "0.1", "score_test": "end", "nproc": "2",
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in FIELDS if name not in ("folds", "fold", "split_seed", "sync_norm")])
def test_fingerprint_covers_what_matters(name: str) -> None:
    changed = make_config({name: CHANGES[name]}).fingerprint() != make_config({}).fingerprint()
    assert changed == FIELDS[name].metadata["identity"]


def test_every_field_has_its_sentence() -> None:
    assert all(field.metadata["help"] for field in FIELDS.values())
