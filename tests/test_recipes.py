"""Recipes are valid configurations, carry the papers' exceptions, and give way to what is asked for."""

from __future__ import annotations

import pytest

from normbench_cli import recipes
from normbench_cli.config import REGISTRIES, make_config
from normbench_cli.errors import UsageError
from normbench_cli.registry import SCHEDULES


@pytest.mark.parametrize("name", recipes.names())
def test_every_recipe_is_a_configuration(name: str) -> None:
    recipe = recipes.find(name)
    config = make_config({"recipe": name})
    assert recipe.summary
    for field, value in recipe.settings.items():
        expected = REGISTRIES[field].canonical(value) if field in REGISTRIES else value
        assert getattr(config, field) == expected, field


def test_given_settings_override_the_recipe() -> None:
    config = make_config({"recipe": "popnorm-cifar", "lr": "0.3", "epochs": "2"})
    assert (config.lr, config.epochs, config.iterations, config.batch_size) == (0.3, 2, None, 128)


@pytest.mark.parametrize(
    ("norm", "lr"),
    [
        ("none", 5e-5),
        ("popnorm:divide=none", 5e-3),
        ("popnorm:divide=none,kappa=1", 5e-3),
        ("popnorm", 0.1),
        ("popnorm:kappa=1", 0.1),
        ("ws+none", 0.1),
        ("bn", 0.1),
    ],
)
def test_the_exceptional_rates_of_popnorms_third_figure(norm: str, lr: float) -> None:
    assert make_config({"recipe": "popnorm-cifar", "norm": norm}).lr == lr


@pytest.mark.parametrize("norm", ["batchnorm", "popnorm", "none"])
def test_sigmoid_networks_of_popnorm_cifar_start_from_larger_weights_with_every_norm(norm: str) -> None:
    given = {"recipe": "popnorm-cifar", "norm": norm}
    starts = {act: make_config(given | {"act": act}) for act in ("sigmoid", "tanh", "relu")}
    assert {act: (one.init, one.init_gain) for act, one in starts.items()} == {
        "sigmoid": ("xavier", 3.0),
        "tanh": ("auto", 1.0),
        "relu": ("auto", 1.0),
    }
    assert make_config(given | {"act": "sigmoid", "init_gain": 1}).init_gain == 1.0


def test_popnorms_imagenet_rates_fall_where_the_paper_says() -> None:
    config = make_config({"recipe": "popnorm-imagenet"})
    assert (config.data, config.iterations, config.batch_size, config.weight_decay) == ("imagenet", 600_000, 256, 1e-4)
    share = SCHEDULES.build(config.schedule)
    steps = (0, 249_999, 250_000, 449_999, 450_000, 549_999, 550_000)
    rates = [config.lr * share(step / 600_000) for step in steps]
    assert rates == pytest.approx([0.05, 0.05, 5e-3, 5e-3, 5e-4, 5e-4, 5e-5])


def test_a_config_from_the_database_is_itself_again() -> None:
    config = make_config({"recipe": "popnorm-cifar", "norm": "none", "lr": 0.2})
    assert make_config(config.to_dict()) == config


def test_a_wrong_name_says_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'popnorm-cifar'"):
        make_config({"recipe": "popnorm-cifr"})
