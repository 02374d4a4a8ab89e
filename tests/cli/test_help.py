"""--help: fits a terminal of 80 columns, its examples parse, its defaults are the ones that a run gets."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from normbench_cli.cli.main import app
from normbench_cli.config import make_config
from normbench_cli.registry.spec import format_value
from tests.support import CommandResult, RunCommand


def commands(group: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with the words that call it."""
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, *path, name)
        else:
            yield (*path, name), command


COMMANDS = dict(commands(get_command(app)))
IDS = [" ".join(path) for path in COMMANDS]


@pytest.mark.parametrize("path", COMMANDS, ids=IDS)
def test_help_fits_80_columns(normbench: RunCommand, monkeypatch: pytest.MonkeyPatch, path: tuple[str, ...]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = normbench(*path, "--help").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert {"--db", "--json", "--debug", "--quiet", "--help"} <= {word for line in lines for word in line.split()}
    examples = lines[lines.index(next(line for line in lines if line.startswith(" Examples:"))) + 1 :]
    assert sum("normbench " in line for line in examples) == 2


@pytest.mark.parametrize("path", COMMANDS, ids=IDS)
def test_the_examples_in_help_are_accepted(path: tuple[str, ...]) -> None:
    for line in COMMANDS[path].epilog.splitlines()[1:]:
        words = shlex.split(line)
        if words[0] == "normbench":
            assert tuple(words[1 : len(path) + 1]) == path
            COMMANDS[path].make_context("normbench", words[len(path) + 1 :])


def test_every_command_takes_the_common_options() -> None:
    for path, command in COMMANDS.items():
        flags = {flag for option in command.params for flag in option.opts}
        assert {"--db", "--json", "--debug", "--quiet", "-q"} <= flags, path


def printed_defaults(text: str) -> dict[str, str]:
    """Option -> its default, from a help page so wide that no option takes two lines."""
    found = re.findall(r"^│ --([\w-]+).*\[default: ([^\]]*)\]", text, re.MULTILINE)
    return {flag.replace("-", "_"): default for flag, default in found}


@pytest.mark.parametrize("command", ["train", "profile"])
def test_a_printed_default_is_what_a_run_gets(
    normbench: RunCommand, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    config = make_config({})
    printed = printed_defaults(normbench(command, "--help").out)
    assert printed["act"] == config.act
    for name, default in printed.items():
        if hasattr(config, name) and (command, name) != ("profile", "norm"):
            assert default.partition(" (recipe ")[0] == format_value(getattr(config, name)), name


def test_the_default_configuration_is_the_one_that_train_makes(
    normbench: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    printed = printed_defaults(normbench("train", "--help").out)
    (run,) = json.loads(normbench("train", "--dry-run", "--json", "--model", "mlp:width=8").out)["runs"]
    for name in printed.keys() & run["config"].keys() - {"model"}:
        assert printed[name].partition(" (recipe ")[0] == format_value(run["config"][name]), name
    assert printed["lr"] == "0.3 (recipe digits)"


COMPLETED = [
    ("normbench tr", "train"),
    ("normbench train --norm pop", "popnorm"),
    ("normbench eval 1234 --corruption al", "all"),
    ("normbench list sched", "schedules"),
    ("normbench runs list --sta", "--status"),
]
RUN_ALL = """
import contextlib, io, json, os, sys
from normbench_cli.cli.main import main
ended = []
for words, variables in json.loads(sys.argv[1]):
    os.environ.update(variables)
    sys.argv, out, err = ["normbench", *words], io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        ended.append([end.code or 0, out.getvalue(), err.getvalue()])
print(json.dumps(ended))
"""


def run_all(commands: list[tuple[list[str], dict[str, str]]]) -> list[CommandResult]:
    """How commands end, each with its variables, one after the other in a process that is no test."""
    words = [sys.executable, "-c", RUN_ALL, json.dumps(commands)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [CommandResult(*ended) for ended in json.loads(done.stdout)]


def test_the_shell_completes() -> None:
    asked = [
        {"_NORMBENCH_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
        for typed, _ in COMPLETED
    ]
    ended = run_all([([], variables) for variables in asked])
    assert [offered in one.out.split() for (_, offered), one in zip(COMPLETED, ended, strict=True)] == [True] * 5


def test_a_variable_of_completion_that_no_shell_has_set_is_ignored() -> None:
    for ended in run_all([(["list", "norms"], {"_NORMBENCH_COMPLETE": value}) for value in ("complete_bash", "x")]):
        assert (ended.code, ended.err) == (0, "")
        assert "popnorm" in ended.out
