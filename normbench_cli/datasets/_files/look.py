"""The files that a data set's spec names: what is there now, and what was there when this process last looked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from normbench_cli.datasets._files.contents import Contents, contents_of
from normbench_cli.paths import data_root
from normbench_cli.registry import DATASETS
from normbench_cli.registry.outside import import_component
from normbench_cli.registry.parameters import REQUIRED
from normbench_cli.registry.parsed_spec import Spec

Key = tuple[str, Path, Path]
_seen: dict[Key, Contents | None] = {}


def look(spec: str) -> Contents | None:
    """What is in the files of a data set now; None if it names no files, or they are not all there."""
    found = _seen[key_of(spec)] = read(spec)
    return found


def last_look(spec: str) -> Contents | None:
    """The same as at the last look, which every plan, training and evaluation begins with."""
    key = key_of(spec)
    return _seen[key] if key in _seen else look(spec)


def key_of(spec: str) -> Key:
    """A spec means other files with another data folder, and a relative path with another working folder."""
    return spec, data_root(), Path.cwd()


def read(spec: str) -> Contents | None:
    parsed = DATASETS.parse(spec)
    if not parsed.entry.facts.files:
        return None
    try:
        paths = list_files(parsed)
        return contents_of(paths) if paths else None
    except OSError:  # loading says better what cannot be read
        return None


def list_files(spec: Spec[Any]) -> list[Path]:
    """What the function that the data set names lists, called with the data set's parameters."""
    function: Any = import_component("the list of files", spec.entry.facts.files)
    defaults = {name: value for name, value in spec.entry.defaults.items() if value is not REQUIRED}
    return [Path(path) for path in function(**defaults | dict(spec.params))]


def is_embedded(spec: str) -> bool:
    """Whether a data set comes with a package, so that nobody can exchange its files."""
    entry = DATASETS.parse(spec).entry
    return not entry.facts.files and entry.module.startswith("normbench_cli.")
