"""The source of external components: which file, and a digest of its bytes.

The digest is of the file as this process imported it.  `reload_changed` reloads what has changed since; every plan
calls it first, so that all cells of a grid are trained with the same source.  normbench's and torch's own components
have no digest: their versions are facts of a run's environment.
"""

from __future__ import annotations

import hashlib
import sys
from importlib import reload
from pathlib import Path
from typing import Any, NamedTuple

from normbench_cli.errors import UsageError, first_sentence
from normbench_cli.registry.entry import Entry
from normbench_cli.registry.source import Unreadable, find_definition, source_file

OWN = ("normbench_cli", "torch")
DIGITS = 16  # hexadecimal


class Source(NamedTuple):
    """The module that defines a component, its file, and the digest of the file's bytes."""

    module: str
    file: str
    digest: str


_imported: dict[str, Source] = {}  # by module
_named_by: dict[str, set[str]] = {}  # a module -> the modules by whose names specs refer to its components


def source_of(entry: Entry[Any]) -> Source | None:
    """The source of a component as it was imported; None for normbench's and torch's own, or without a file."""
    if is_own(entry.module):
        return None
    module = defining_module(entry)
    if module not in _imported and (found := read_source(module)):
        _imported[module] = found
        _named_by.setdefault(module, set()).add(entry.module)
    return _imported.get(module)


def is_own(module: str) -> bool:
    return module.partition(".")[0] in OWN


def defining_module(entry: Entry[Any]) -> str:
    """The module that defines the class or function, which may be imported from another one."""
    try:
        module = find_definition(entry.module, entry.attribute).module
    except Unreadable:
        module = getattr(entry.load(), "__module__", None) or entry.module
    return entry.module if is_own(module) else module


def read_source(module: str) -> Source | None:
    """The source of a module as it is on disk."""
    try:
        file = Path(getattr(sys.modules.get(module), "__file__", None) or source_file(module))
        digest = hashlib.sha256(file.read_bytes()).hexdigest()[:DIGITS]
    except (OSError, Unreadable):
        return None
    return Source(module, str(file.absolute()), digest)


def reload_changed() -> None:
    """Reload the modules whose files have changed since they were imported."""
    for module, known in list(_imported.items()):
        now = read_source(module)
        if now is None or now == known:
            continue
        del _imported[module]
        for name in (module, *sorted(_named_by.pop(module, set()) - {module})):
            if name in sys.modules:
                import_again(name)


def import_again(module: str) -> None:
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        reload(sys.modules[module])
    except Exception as error:  # user code may raise anything
        what = f"{module} has changed and cannot be imported again ({first_sentence(error)})"
        raise UsageError(what, "fix the file") from error
    finally:
        sys.path.remove(folder)
