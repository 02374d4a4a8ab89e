"""A recorded configuration is read without anything but its row."""

from __future__ import annotations

from normbench_cli.config import DEFAULTS
from normbench_cli.experiments.recorded import recorded_config
from normbench_cli.store.schema import Run


def test_a_recipe_file_of_a_run_is_not_opened() -> None:
    run = Run(id="1234", config={"recipe": "gone.toml", "norm": "popnorm", "lr": 0.5})
    config = recorded_config(run)
    assert (config.recipe, config.norm, config.lr) == ("gone.toml", "popnorm", 0.5)
    assert config.momentum == DEFAULTS["momentum"]
