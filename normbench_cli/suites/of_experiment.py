"""An experiment file as a suite: a row for each combination of its settings, and no published numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from normbench_cli.axes.experiment import Experiment
from normbench_cli.axes.experiment_file import read_experiment
from normbench_cli.axes.recipe_file import with_recipe_file
from normbench_cli.config import REGISTRIES, RunConfig, make_config
from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import format_value
from normbench_cli.registry.trust import USER
from normbench_cli.suites.suite import Cell, Suite

TEST = "test/accuracy"
FOLDS, OVER_FOLDS = "validation/accuracy@curve_best", "validation/accuracy_sd0@curve_best"


def read_as_suite(path: Path) -> Suite:
    """Read an experiment file as a suite."""
    experiment = read_experiment(path)
    if any("seed" in group for group in experiment.zipped):
        raise UsageError(f"{path} zips its seeds", "run it by `normbench train`, or leave seed out of zip")
    unseeded = {name: given for name, given in experiment.written.items() if name != "seed"}
    varying = Experiment(unseeded, experiment.zipped)
    cells = {label: make_cell(label, settings) for label, settings in labelled(varying)}
    configs = [make_config(cell.settings, USER) for cell in cells.values()]
    return Suite(
        name=path.stem,
        title="an experiment",
        paper="",
        place="",
        cells=tuple(cells.values()),
        seeds=tuple(experiment.values.get("seed") or own_seeds(configs, path)),
        over="folds" if all(config.folds for config in configs) else "seeds",
        unit="%",
    )


def labelled(experiment: Experiment) -> list[tuple[str, dict[str, Any]]]:
    """Each combination with a label of the settings that vary; specs are trusted, since they have been checked."""
    names = experiment.axes or ("norm",)
    found = []
    for settings in map(with_recipe_file, experiment.cells()):
        config = make_config(settings, USER)
        found.append((", ".join(label_of(config, name) for name in names), settings))
    return found


def label_of(config: RunConfig, name: str) -> str:
    text = format_value(getattr(config, name))
    return text if name in REGISTRIES else f"{name}={text}"


def make_cell(label: str, settings: dict[str, Any]) -> Cell:
    folds = make_config(settings, USER).folds
    metric = FOLDS if folds else TEST
    return Cell(label, metric, settings, metric, sd=OVER_FOLDS if folds else "", unit="%")


def own_seeds(configs: list[RunConfig], path: Path) -> list[int]:
    """The seed of the configurations, set by their recipe, if the file names none."""
    seeds = list(dict.fromkeys(config.seed for config in configs))
    if len(seeds) > 1:
        raise UsageError(f"{path} has recipes with different seeds", 'write seeds = "0-4"')
    return seeds
