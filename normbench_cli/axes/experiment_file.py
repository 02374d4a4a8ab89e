"""An experiment read from a TOML file, whose keys are the options of `normbench train`.

    norm = ["batchnorm", "augnorm:phi=1.1..1.9/5"]      several values make an axis
    lr = "log:0.01..1/7"                                text is read like the option's argument
    batch-size = [64, 256, 1024]
    seeds = "0-4"
    zip = [["lr", "batch_size"]]                        axes that advance together

The file may come from anyone, so its specs load components only from packages that the user allows.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from normbench_cli.axes.experiment import Experiment, Zipped, read_zip
from normbench_cli.axes.values import pieces, read_pieces, setting_name
from normbench_cli.config import FIELDS
from normbench_cli.errors import UsageError
from normbench_cli.paths import expanded
from normbench_cli.registry.trust import recorded_in
from normbench_cli.toml_file import SUFFIX, TomlFile, read_toml

ZIP = "zip"
OF_A_SUITE = ("rows", "columns", "metric", "published")


def read_experiment(path: str | Path, allow: str | Iterable[str] = ()) -> Experiment:
    """Read an experiment from a file and check each value.

    allow: packages outside normbench that its specs may load, besides those that the user has permanently allowed.
    """
    if not str(path).endswith(SUFFIX):
        raise UsageError(
            f"'{path}' is not an experiment",
            "give a .toml file, or an option such as --norm; separate values by commas",
        )
    file = read_toml(expanded(str(path)), "an experiment")
    if is_suite(file.content):
        raise UsageError(f"{path} is a suite", f"run it by `normbench reproduce {path}`")
    return experiment_in(file, allow)


def is_suite(content: dict[str, Any]) -> bool:
    """Whether a file describes a table of rows and columns."""
    return any(key in content for key in OF_A_SUITE)


def is_experiment(content: dict[str, Any]) -> bool:
    """Whether a file has settings and is not a suite."""
    names = {key.replace("-", "_") for key in content} - {"note"}  # a suite may have a note, too
    return not is_suite(content) and not names.isdisjoint(FIELDS)


def experiment_in(file: TomlFile, allow: str | Iterable[str] = ()) -> Experiment:
    written: dict[str, tuple[Any, ...]] = {}
    zipped: Zipped = ()
    trust = recorded_in(str(file.path), allow)
    for key, value in file.content.items():
        with file.naming(key):
            if key == ZIP:
                zipped = read_zip(value)
                continue
            name = setting_name(key)
            if name in written:
                raise UsageError(f"{name} is given twice, as '{key}' too", "give it once")
            written[name] = pieces(name, value)
            read_pieces(name, written[name], trust)
    if not written:
        raise UsageError(f"{file.path} has no settings", 'write norm = ["batchnorm", "popnorm"], for example')
    experiment = Experiment(written, zipped)
    with file.naming(ZIP):
        experiment.check_zip()
    return experiment
