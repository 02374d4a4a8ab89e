"""Commands that read or list little load no heavy library, so they start at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from normbench_cli.store import Store

LIGHT = {"torch", "optuna", "pandas", "sqlalchemy"}
READING = {"torch", "optuna", "alembic"}
DRAWING = {"matplotlib", "scipy.stats", "statsmodels"}
COMMANDS: list[tuple[list[str], set[str]]] = [  # in one process, so a command also answers for those before it
    (["--help"], LIGHT),
    (["train", "--help"], LIGHT),
    (["list", "norms"], LIGHT),
    (["tune", "--help"], LIGHT),
    (["list", "activations", "--json"], LIGHT),
    (["list", "suites"], LIGHT),
    (["report"], READING | DRAWING),
    (["report", "--where", "norm=popnorm:kappa=8"], READING),
    (["runs", "list"], READING),
    (["runs", "list", "--where", "norm=ws+gn:groups=8", "--where", "act=elu:alpha=2"], READING),
]
RUN_ALL = """
import json, pathlib, sys
from normbench_cli.cli.main import main
loaded = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["normbench", *words]
    try:
        main()
    except SystemExit:
        loaded.append([*sys.modules])
pathlib.Path("loaded.json").write_text(json.dumps(loaded))
"""


def loaded_by(commands: list[list[str]]) -> list[set[str]]:
    """The modules that a process has loaded at the end of each command."""
    subprocess.run([sys.executable, "-c", RUN_ALL, json.dumps(commands)], capture_output=True, text=True, check=True)
    return [set(modules) for modules in json.loads(Path("loaded.json").read_text())]


def test_light_commands_load_no_heavy_library() -> None:
    with Store.open():  # so that there is a database to read
        pass
    loaded = loaded_by([words for words, _ in COMMANDS])
    heavy = {" ".join(words): found & without for (words, without), found in zip(COMMANDS, loaded, strict=True)}
    assert not {words: libraries for words, libraries in heavy.items() if libraries}
