"""Who may import whom, checked on the source; and that light commands stay light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).parents[1] / "normbench_cli"
ANYONE = {"config", "registry", "recipes", "errors", "paths", "__init__"}  # no torch, no database
COMPONENTS = {"norms", "activations", "models", "datasets", "objectives", "attacks", "corruptions"}
MAY_IMPORT: dict[str, set[str]] = {
    "__main__": {"cli"},
    "cli": {"runs", "reporting", "store", "device"},
    "runs": {"build", "corruptions", "datasets", "engine", "measure", "store", "device"},
    "build": {*COMPONENTS, "engine", "measure", "device"},
    "engine": {"measure", "device"},
    "measure": {"device"},
    "device": set(),
    "store": set(),
    "reporting": {"store"},
    **{name: set() for name in COMPONENTS},
    "models": {"device"},
    "datasets": {"device"},
    **{name: set() for name in ANYONE},
}
NEVER = {"torch": {"store", "reporting", *ANYONE}, "sqlalchemy": {"engine", "measure", "build", "device", *COMPONENTS}}
FILES = sorted(PACKAGE.rglob("*.py"))


def piece_of(path: Path) -> str:
    """The part of the package a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Full names of all modules a file imports, at any depth, those for type checking left out."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_follow_the_arrows(path: Any) -> None:
    piece = piece_of(path)
    assert piece in MAY_IMPORT, f"{piece} is new: say in MAY_IMPORT whom it may import"
    inside = {name.split(".")[1] for name in imported(path) if name.startswith("normbench_cli.")}
    inside -= {"__version__"}
    assert inside <= MAY_IMPORT[piece] | ANYONE | {piece}
    for library, without in NEVER.items():
        if piece in without:
            assert not [name for name in imported(path) if name.split(".")[0] == library]


def loaded_by(*words: str) -> set[str]:
    """The modules that a command has loaded when it ends."""
    code = (
        "import sys\nfrom normbench_cli.cli.main import main\n"
        f"sys.argv = ['normbench', *{list(words)!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize(
    ("words", "without"),
    [
        (["--help"], {"torch", "pandas", "sqlalchemy"}),
        (["train", "--help"], {"torch", "pandas", "sqlalchemy"}),
        (["list", "norms"], {"torch", "pandas", "sqlalchemy"}),
        (["report"], {"torch", "alembic"}),
        (["runs", "list"], {"torch", "alembic"}),
    ],
)
def test_light_commands_load_no_heavy_library(words: Any, without: Any) -> None:
    loaded_by("db", "upgrade")  # so that there is a database to read
    assert not loaded_by(*words) & without
