"""Who may import whom, which imports may stand inside functions, and which libraries a light command never loads.

All of it is read from the source with `ast`, except the last part, which starts commands.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.source import FILES, PACKAGE, parsed, place

# neither torch nor the database
ANYONE = {
    "config",
    "config_checks",
    "registry",
    "recipes",
    "errors",
    "paths",
    "seeds",
    "fast_paths",
    "disk",
    "git",
    "interrupts",
    "printable",
    "local_time",
    "nested",
    "durations",
    "version",
    "axes",
    "toml_file",
    "__init__",
}
COMPONENTS = {"norms", "activations", "models", "datasets", "objectives", "attacks", "corruptions", "schedules"}
MAY_IMPORT: dict[str, set[str]] = {  # besides ANYONE and itself
    "__main__": {"cli"},
    "cli": {"experiments", "nightly", "reporting", "store", "suites"},
    "nightly": {"device", "experiments", "reporting", "store", "suites"},
    "experiments": {"build", "corruptions", "datasets", "engine", "measure", "store", "suites", "device", "operations"},
    "build": {*COMPONENTS, "engine", "measure", "device", "model_state", "operations"},
    "engine": {"measure", "device", "model_state"},
    "measure": {"device", "model_state", "operations"},
    "reporting": {"store", "suites"},
    "suites": set(),
    "store": set(),
    "device": set(),
    "model_state": {"device"},
    "operations": set(),
    **{name: set() for name in COMPONENTS},
    "attacks": {"model_state"},
    "norms": {"device", "operations"},
    "models": {"device"},
    "datasets": {"device"},
    **{name: set() for name in ANYONE},
    "__init__": {"experiments"},
}
CONTRACTS = {f"normbench_cli.{room}.protocols" for room in COMPONENTS}  # nothing but Protocols: what components offer
MAY_KNOW_CONTRACTS = {"engine", "measure", "experiments"}
NEVER = {
    "torch": {"store", "reporting", "suites", *ANYONE},
    "sqlalchemy": {"engine", "measure", "build", "device", *COMPONENTS},
}

# An import stands inside a function only where loading would slow down a command that does without: one of these
# libraries, or a module of ours that loads one of them.
SLOW_TO_LOAD = {
    *("torch", "torchvision", "torch_geometric", "sklearn", "scipy", "matplotlib", "PIL"),
    *("statsmodels", "optuna"),
    *("sqlalchemy", "alembic", "pandas", "rich", "psutil", "platformdirs", "importlib.metadata"),
}
MOST_LAZY_IMPORTS = 60


def room_of(path: Path) -> str:
    """The part of the package a file belongs to."""
    return place(path).partition("/")[0].removesuffix(".py")


def module_of(path: Path) -> str:
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    return name.removesuffix(".__init__")


MODULES = {module_of(path): path for path in FILES}


def names_in(node: ast.AST) -> set[str]:
    """What an import statement names, with the module it comes from."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module:
        return {f"{node.module}.{alias.name}" for alias in node.names}
    return set()


def imported(path: Path) -> set[str]:
    """All names a file imports, in functions and for type checking too."""
    return {name for node in ast.walk(parsed(path)) for name in names_in(node)}


def run_time_imports(tree: ast.AST, *, lazy: bool) -> Iterator[ast.AST]:
    """The import statements inside functions, or outside of them; those for type checking are neither."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if lazy:
                yield from (inner for inner in ast.walk(node) if isinstance(inner, ast.Import | ast.ImportFrom))
            continue
        if isinstance(node, ast.Import | ast.ImportFrom) and not lazy:
            yield node
        yield from run_time_imports(node, lazy=lazy)


def own_module(name: str) -> str | None:
    """The module of ours that an imported name is, or lies in."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name or None


def is_slow_to_load(name: str) -> bool:
    """Does importing this name load one of the slow libraries, at once or through other modules?"""
    seen, to_see = set(), {name}
    while to_see:
        seen.add(name := to_see.pop())
        module = own_module(name)
        if module is None and any(f"{name}.".startswith(f"{library}.") for library in SLOW_TO_LOAD):
            return True
        if module is not None:
            to_see |= (loaded_at_once(module) | (loaded_on_use(module) if name != module else set())) - seen
    return False


@cache
def loaded_at_once(module: str) -> set[str]:
    """What the top level of a module of ours, and of the packages that it lies in, imports."""
    packages = [module.rsplit(".", cut)[0] for cut in range(module.count(".") + 1)]
    statements = (node for one in packages for node in run_time_imports(parsed(MODULES[one]), lazy=False))
    return {name for node in statements for name in names_in(node)}


@cache
def loaded_on_use(module: str) -> set[str]:
    """What the `__getattr__` of a module imports, when one of its lazy attributes is used."""
    tree = parsed(MODULES[module])
    lazy = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "__getattr__"]
    return {name for function in lazy for node in ast.walk(function) for name in names_in(node)}


@pytest.mark.parametrize("room", sorted({*map(room_of, FILES)}))
def test_imports_follow_the_arrows(room: str) -> None:
    assert room in MAY_IMPORT, f"{room} is new: state in MAY_IMPORT which rooms it may import"
    against = {place(path): found for path in FILES if room_of(path) == room and (found := imports_against(path, room))}
    assert not against


def imports_against(path: Path, room: str) -> set[str]:
    """What a file imports against the arrows, except for type checking."""
    names = {name for node in ast.walk(without_type_checking(parsed(path))) for name in names_in(node)}
    if room in MAY_KNOW_CONTRACTS:
        names = {name for name in names if name not in CONTRACTS and name.rpartition(".")[0] not in CONTRACTS}
    inside = {name.split(".")[1] for name in names if name.startswith("normbench_cli.")} - {"__version__"}
    libraries = {library for library, without in NEVER.items() if room in without}
    return (inside - MAY_IMPORT[room] - ANYONE - {room}) | ({name.split(".")[0] for name in names} & libraries)


def without_type_checking(tree: ast.Module) -> ast.Module:
    body = [node for node in tree.body if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")]
    return ast.Module(body, [])


def test_no_file_imports_itself_through_others() -> None:
    """Imports inside functions and for type checking count, too."""
    graph = {
        module: {found for name in imported(path) if (found := own_module(name)) and found != module}
        for module, path in MODULES.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def lazy_imports() -> list[tuple[str, ast.AST]]:
    """Every import inside a function, with its place in the source."""
    return [
        (f"{place(path)}:{getattr(node, 'lineno', 0)} {ast.unparse(node)}", node)
        for path in FILES
        for node in run_time_imports(parsed(path), lazy=True)
    ]


def test_imports_inside_functions_stay_few() -> None:
    found = [place for place, _ in lazy_imports()]
    assert len(found) <= MOST_LAZY_IMPORTS, "\n".join(found)


def test_only_what_is_slow_to_load_is_imported_inside_functions() -> None:
    found = [place for place, node in lazy_imports() if not any(map(is_slow_to_load, names_in(node)))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("library", ["ray", "submitit"])
def test_only_its_executor_imports_the_library_of_an_extra(library: str) -> None:
    importing = [path for path in FILES if any(name.split(".")[0] == library for name in imported(path))]
    assert importing == [PACKAGE / "experiments" / "executors" / f"{library}.py"]
    assert f"normbench_cli.experiments.executors.{library}" not in {name for path in FILES for name in imported(path)}


def test_nothing_imports_the_driver_of_postgresql() -> None:
    """SQLAlchemy does, when a URL names a server."""
    assert not [path for path in FILES if any(name.split(".")[0] == "psycopg" for name in imported(path))]
