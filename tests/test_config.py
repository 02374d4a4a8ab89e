"""A configuration checks itself, is canonical, and its fingerprint covers what matters and nothing else."""

from __future__ import annotations

import pytest

from normbench_cli.config import FIELDS, make_config, read_settings
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
        ({"amp": "fp8"}, "not one of auto, off"),
        ({"optimizer": "sdg"}, "did you mean 'sgd'"),
        ({"colour": "red"}, "no setting 'colour'"),
        ({"workers": "many"}, "not a whole number"),
        ({"schedule": "cosin"}, "did you mean 'cosine'"),
    ],
)
def test_what_cannot_be_is_refused(values: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        make_config(values)


def test_batch_of_one_is_fine_without_batch_statistics() -> None:
    for norm in ("none", "groupnorm", "popnorm:stats=instance"):
        assert make_config({"batch_size": 1, "norm": norm}).batch_size == 1


def test_aliases_and_defaults_do_not_change_the_fingerprint() -> None:
    plain = make_config({})
    assert make_config({"norm": "bn:eps=1e-5", "lr": "0.3", "seed": "0"}).fingerprint() == plain.fingerprint()


CHANGES = {
    "norm": "none", "act": "tanh", "model": "resnet20:option=B", "data": "digits:size=8", "epochs": "3",
    "batch_size": "8",
    "optimizer": "adam", "lr": "0.2", "momentum": "0", "weight_decay": "0", "schedule": "linear", "init": "torch",
    "seed": "1", "amp": "bf16", "iterations": "5",
    "device": "cpu", "compile": "true", "channels_last": "false", "workers": "2", "tag": "a", "note": "b",
    "probes": "2", "checkpoint_epochs": "7", "checkpoint_minutes": "3", "recipe": "digits",
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in FIELDS if name not in ("objective", "folds")])
def test_fingerprint_covers_what_matters(name: str) -> None:
    changed = make_config({name: CHANGES[name]}).fingerprint() != make_config({}).fingerprint()
    assert changed == FIELDS[name].metadata["identity"]


def test_every_field_has_its_sentence() -> None:
    assert all(field.metadata["help"] for field in FIELDS.values())


def test_settings_are_checked_by_name() -> None:
    assert read_settings(["init=torch", "lr=1"]) == {"init": "torch", "lr": "1"}
    with pytest.raises(UsageError, match="no setting 'nokey'"):
        read_settings(["nokey=1"])
