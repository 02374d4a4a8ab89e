"""Random command lines, drawn from the program's own commands, options and registries."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from typer.core import TyperGroup
from typer.main import get_command

from normbench_cli import recipes
from normbench_cli.cli.main import app
from normbench_cli.config import FIELDS, GRID_FIELDS
from normbench_cli.config import REGISTRIES as SETTINGS
from normbench_cli.registry import REGISTRIES
from tests.fuzzing.specs import spec
from tests.fuzzing.words import NASTY, NUMBERS

WEIGHTS = {"train": 6, "eval": 3, "report": 5, "profile": 1, "list": 2, "doctor": 0}  # of the others: 1
CHEAP = {  # what trains quickly, for options whose any value may be a good one
    "model": ["mlp:width=8", "gcn:hidden=4", "nosuch"],
    "data": ["digits:size=8", "shifted_digits", "folder:path=nowhere", "tu:name=NOWHERE", "celeba", "imagenet"],
    "epochs": ["1", "0", "-1", "x", "1.5", "²", ""],
    "iterations": ["1", "0", "-1", "x", "nan"],
    "batch_size": ["64", "0", "1", "-3", "99999", "x"],
    "lr": [*NUMBERS, "0.1,0.2", "0.1..0.2/2", "log:0.1..1/2", "0.1..", "log:", "1..2/0", "2..1/99999", "1..2/1e9"],
    "zip_": ["lr,norm", "lr", "lr,lr", "seed,norm", "nosuch,lr", ","],
    "experiment": ["nosuch.toml", "mine.toml", "popnorm"],
    "save": ["new.toml", "nowhere/new.toml", "file.txt"],
    "folds": ["0", "1", "2", "-1", "x"],
    "workers": ["0", "-1", "x"],
    "rounds": ["5", "4", "x"],
    "shape": ["4x2", "2x2x2x2", "0x1", "x", "4", "1x1x1x1x1x1", "²x3", "-1x3", "99999999999999999999x2"],
    "seconds": ["1", "0", "nan", "x"],
    "precision": ["50%", "0", "nan", "x", "2"],
    "device": ["cpu", "auto", "toaster", "cuda:99", "meta", ""],
    "only": ["layers", "nothing"],
    "kind": ["train", "profile", "nosuch", *REGISTRIES],
    "format": ["md", "csv", "json", "md,html", "x", ""],
    "suites": ["nosuch", "mine.toml"],
    "suite": ["nosuch", "mine.toml", "canary"],
    "budget": ["0.001s", "0s", "x", "nan", "1e-9d"],
    "repo": ["nowhere", ".", "file.txt"],
    "scale": ["smoke", "x"],
    "notify": ["true", "false", "nosuchcommand"],
    "out": ["reports", "elsewhere", "file.txt", "file.txt/x"],
}
SETS = [
    "probes=1",
    "checkpoint_minutes=nan",
    "amp=bf16",
    "init=xavier",
    "optimizer=adam",
    "norm=x",
    "lr=1e400",
    "seed=²",
]


def commands(group: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with the words that call it."""
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            if command.invoke_without_command:
                yield (*path, name), command
            yield from commands(command, *path, name)
        else:
            yield (*path, name), command


@cache
def known_commands() -> dict[tuple[str, ...], Any]:
    return dict(commands(get_command(app)))


def command_line(rng: random.Random, run_ids: list[str]) -> list[str]:
    """A command line."""
    known = known_commands()
    ((path, command),) = rng.choices(list(known.items()), [WEIGHTS.get(path[0], 1) for path in known])
    words, named = list(path), rng.sample(command.params, min(len(command.params), rng.choice([0, 1, 1, 2, 3, 4])))
    for parameter in command.params:
        usual = 0.1 if parameter.name == "experiment" else 0.9
        if parameter in named or (parameter.param_type_name == "argument" and rng.random() < usual):
            words += drawn(parameter, path[0], rng, run_ids)
    if path in (("train",), ("profile",), ("nightly",)) and "--help" not in words:
        words += quick(path[0], words, rng)
    return words if rng.random() < 0.98 else [*words, rng.choice(NASTY)]


def quick(command: str, words: list[str], rng: random.Random) -> list[str]:
    """What makes a training or a profile short, unless the words have said otherwise."""
    usual = {"--model": "mlp:width=8", "--data": "digits:size=8"}
    if command == "nightly":
        usual = {"--budget": "0.001s"} if "canary" in words else {"--suite": "nosuch"}
    elif command == "train":
        usual |= {"--batch-size": "64"} | ({} if "--epochs" in words else {"--iterations": "1"})
    else:
        usual |= {"--only": "layers", "--shape": "4x2", "--rounds": "5", "--budget": "1s"}
    words_for_it = [word for pair in usual.items() if pair[0] not in words for word in pair]
    return [*words_for_it, "--no-memory"] if command == "profile" else words_for_it


def drawn(parameter: Any, command: str, rng: random.Random, run_ids: list[str]) -> list[str]:
    """An option or an argument with a value."""
    name = str(parameter.name)
    if parameter.param_type_name == "argument":
        pool = run_ids if name in ("run", "runs", "a", "b") else CHEAP.get(name, ["backup.db"])
        return [rng.choice([*pool, rng.choice(NASTY)])]
    flag = rng.choice([*parameter.opts, *parameter.secondary_opts])
    if parameter.is_flag or parameter.secondary_opts:
        return [] if flag == "--compile" else [flag]  # compiling takes longer than all else
    return [flag, value_of(name, command, rng)]


def value_of(name: str, command: str, rng: random.Random) -> str:
    """A value of an option, mostly of the kind that it takes."""
    if name in CHEAP:
        return rng.choice(CHEAP[name])
    if rng.random() < 0.3:
        return rng.choice(NASTY)
    if name in SETTINGS:
        return ",".join(spec(SETTINGS[name], rng) for _ in range(rng.choice([1, 1, 1, 2])))
    if name in ("attack", "corruption"):
        return spec(REGISTRIES[f"{name}s"], rng)
    if name in ("where", "set_"):
        key = rng.choice([*FIELDS, "nokey"])
        known = spec(SETTINGS[key], rng) if key in SETTINGS and command != "train" else rng.choice(NUMBERS)
        return rng.choice(SETS) if name == "set_" else f"{key}={known}"
    choices = {"recipe": recipes.names(), "by": [*GRID_FIELDS, "lr,seed"], "curve": ["train/loss", "test/accuracy"]}
    return rng.choice(choices.get(name, [*NUMBERS, "word", "test/accuracy", "finished"]))
