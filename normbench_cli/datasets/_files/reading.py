"""The files of a data set's spec: their contents now, and when this process last read them."""

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


def read_contents(spec: str) -> Contents | None:
    """Read the current contents of a data set's files; None if it names no files, or if any is missing."""
    found = _seen[key_of(spec)] = read(spec)
    return found


def cached_contents(spec: str) -> Contents | None:
    """The contents at the last `read_contents`, which every plan, training and evaluation starts with."""
    key = key_of(spec)
    return _seen[key] if key in _seen else read_contents(spec)


def key_of(spec: str) -> Key:
    """The spec with the data folder and the working folder, on which the files that it refers to depend."""
    return spec, data_root(), Path.cwd()


def read(spec: str) -> Contents | None:
    parsed = DATASETS.parse(spec)
    if not parsed.entry.facts.files:
        return None
    try:
        paths = list_files(parsed)
        return contents_of(paths) if paths else None
    except OSError:  # loading gives a better message about what cannot be read
        return None


def list_files(spec: Spec[Any]) -> list[Path]:
    """List a data set's files by the function that it names, called with its parameters."""
    function: Any = import_component("the list of files", spec.entry.facts.files)
    defaults = {name: value for name, value in spec.entry.defaults.items() if value is not REQUIRED}
    return [Path(path) for path in function(**defaults | dict(spec.params))]


def is_embedded(spec: str) -> bool:
    """Whether a data set comes with a package, so that its files cannot be replaced."""
    entry = DATASETS.parse(spec).entry
    return not entry.facts.files and entry.module.startswith("normbench_cli.")
