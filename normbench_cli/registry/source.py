"""Reading Python source without importing it: where a module's file is, and where a name in it is defined.

Importing a component imports torch.  Commands that must start quickly need its name, facts and parameters, so these
are read from the syntax tree.  Source that is not understood raises `Unreadable`; the caller then imports.
"""

from __future__ import annotations

import ast
import importlib.util
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple


class Unreadable(Exception):
    """The source is missing or written in a way that only importing can resolve."""


class Definition(NamedTuple):
    """A class, a function or an assigned expression, and the module whose namespace resolves its names."""

    module: str
    node: ast.AST


def source_file(module: str) -> Path:
    """The file of a module.  Python's import system finds only the top-level package, because finding a submodule
    would import its parents."""
    top, *rest = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        raise Unreadable(f"there is no module {module}")
    if not rest and spec.origin and spec.origin.endswith(".py"):
        return Path(spec.origin)
    for folder in spec.submodule_search_locations or ():
        place = Path(folder).joinpath(*rest)
        for file in (place / "__init__.py", place.parent / f"{place.name}.py"):
            if file.is_file():
                return file
    raise Unreadable(f"there is no source file of {module}")


def parse_module(module: str) -> ast.Module:
    file = source_file(module)
    try:
        modified = file.stat().st_mtime_ns
    except OSError as error:
        raise Unreadable(str(error)) from error
    return parse_file(file, modified)


@lru_cache(maxsize=256)
def parse_file(file: Path, modified: int) -> ast.Module:  # noqa: ARG001
    """The syntax tree of a file; `modified` invalidates the cache when the file changes."""
    try:
        return ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        raise Unreadable(str(error)) from error


def find_definition(module: str, name: str, depth: int = 0) -> Definition:
    """Find the definition of a name in a module, following imports; the name may be dotted (``nn.ELU``)."""
    if depth > 20:
        raise Unreadable(f"imports of {name} go round in a circle")
    head, dot, rest = name.partition(".")
    if dot:
        return find_definition(imported_module(module, head), rest, depth + 1)
    starred: list[str] = []
    for node in reversed(parse_module(module).body):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return Definition(module, node)
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return Definition(module, node.value)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            if node.value is None:
                break
            return Definition(module, node.value)
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return find_definition(origin_of(node, module), alias.name, depth + 1)
                if alias.name == "*":
                    starred.append(origin_of(node, module))
    for origin in starred:
        try:
            return find_definition(origin, name, depth + 1)
        except Unreadable:
            continue
    raise Unreadable(f"{name} is not defined at the top level of {module}")


def imported_module(module: str, name: str) -> str:
    """The full name of the module that is imported as `name`."""
    for node in parse_module(module).body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return f"{origin_of(node, module)}.{alias.name}"
    raise Unreadable(f"{name} is not a module that {module} imports")


def origin_of(node: ast.ImportFrom, module: str) -> str:
    """The full name of the module in a ``from ... import``; leading dots are relative to the module's package."""
    if not node.level:
        return node.module or ""
    is_package = source_file(module).name == "__init__.py"
    parts = module.split(".")
    kept = parts[: len(parts) - node.level + is_package]
    return ".".join([*kept, node.module] if node.module else kept)
