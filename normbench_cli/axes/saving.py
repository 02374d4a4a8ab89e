"""An experiment written as a TOML file, the way it was given: ranges stay ranges."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from normbench_cli import disk
from normbench_cli.axes.experiment import ORDER, Experiment
from normbench_cli.axes.values import SEEDS, read_setting
from normbench_cli.config import REGISTRIES
from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.paths import expanded
from normbench_cli.toml_file import SUFFIX


def save_experiment(experiment: Experiment, target: str) -> Path:
    """Write a new file."""
    path = expanded(target)
    if not target.endswith(SUFFIX):
        raise UsageError(f"--save {target} is not a .toml file", f"write --save {target}{SUFFIX}")
    if path.exists():
        raise UsageError(f"{target} exists", "give another name, or remove it")
    try:
        disk.write_text(path, as_toml(experiment, target))
    except OSError as error:
        raise NormbenchError(f"{target} cannot be written: {error.strerror}", "give another place by --save") from error
    return path


def as_toml(experiment: Experiment, name: str) -> str:
    """The text of the file."""
    lines = [f"# normbench train {json.dumps(name) if ' ' in name else name}"]
    for setting in ORDER:
        if setting in experiment.written:
            given = [toml_value(setting, piece) for piece in experiment.written[setting]]
            text = given[0] if len(given) == 1 else f"[{', '.join(given)}]"
            lines.append(f"{SEEDS if setting == 'seed' else setting} = {text}")
    if experiment.zipped:
        lines.append(f"zip = {json.dumps(experiment.zipped)}")
    return "\n".join([*lines, ""])


def toml_value(name: str, piece: Any) -> str:
    """A value as TOML; numbers and booleans that were given as text lose their quotes."""
    value = piece
    if name not in REGISTRIES:
        with suppress(UsageError):  # a range, or seeds
            value = read_setting(name, piece)
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, int | float) else toml_text(str(piece))


def toml_text(text: str) -> str:
    """A basic string; JSON's escapes are valid TOML, which requires one more."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
