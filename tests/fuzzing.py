"""Random command lines, drawn from the program's own commands, options and registries, and what each must keep to.

`command_lines` draws them from a seed; `Sandbox.run` runs one in this process, as the program would, and gives the
rules of the contract that it broke: its exit code, its lines, the places that it wrote to.
"""

from __future__ import annotations

import io
import os
import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, get_args

from typer.core import TyperGroup
from typer.main import get_command

from normbench_cli import recipes
from normbench_cli.cli.main import app, main
from normbench_cli.config import FIELDS, GRID_FIELDS
from normbench_cli.config import REGISTRIES as SETTINGS
from normbench_cli.registry import REGISTRIES, Registry

CODES = {0, 1, 2, 4, 5}
WEIGHTS = {"train": 12, "eval": 3, "report": 5, "profile": 1, "list": 2, "doctor": 0}  # of the others: 1
NASTY = [
    *("", " ", "²", "٣", "nan", "-inf", "1e400", "-1", "0", "99999999999999999999", "true", "None", "=", ":", ",", "+"),
    *(
        "x\0y",
        "\udcff",
        "a" * 5000,
        "/",
        "..",
        "../..",
        "~nosuchuser/x",
        "/dev/null",
        "a/b/c",
        "%",
        "'; DROP TABLE runs",
    ),
    *(
        "..:x",
        "os:system",
        "no.such:Thing",
        "key=value",
        "norm=",
        "norm=bn",
        "seed=²",
        "=x",
        "\x1b[31m",
        "-",
        "--",
        "é",
    ),
    *("sqlite://", "postgres://x/y", "nosuch://x", "50%", "epoch 1", "-5%", "0-9999999999999", "5-2", "1,,2"),
]
NUMBERS = ["0", "1", "2", "-1", "0.5", "1.5", "nan", "inf", "-inf", "1e-400", "1e400", "x", "", "²", "true", "1_0"]
# What a command line may still break, as regular expressions for a whole rule: others are mending it.  DELETE a line
# when that is merged; the tests must hold with none.
CHEAP = {  # what trains quickly, for options whose any value may be a good one
    "model": ["mlp:width=8", "gcn:hidden=4", "nosuch"],
    "data": ["digits:size=8", "shifted_digits", "folder:path=nowhere", "tu:name=NOWHERE", "celeba", "imagenet"],
    "epochs": ["1", "0", "-1", "x", "1.5", "²", ""],
    "iterations": ["1", "0", "-1", "x", "nan"],
    "batch_size": ["64", "0", "1", "-3", "99999", "x"],
    "folds": ["0", "1", "2", "-1", "x"],
    "workers": ["0", "-1", "x"],
    "rounds": ["5", "4", "x"],
    "shape": ["4x2", "2x2x2x2", "0x1", "x", "4", "1x1x1x1x1x1", "²x3", "-1x3", "99999999999999999999x2"],
    "seconds": ["1", "0", "nan", "x"],
    "precision": ["50%", "0", "nan", "x", "2"],
    "device": ["cpu", "auto", "toaster", "cuda:99", "meta", ""],
    "only": ["layers", "nothing"],
    "kind": ["train", "profile", "nosuch", *REGISTRIES],
    "format": ["md", "csv", "json", "x", ""],
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
            yield from commands(command, *path, name)
        else:
            yield (*path, name), command


def command_lines(seed: int, count: int, run_ids: list[str]) -> Iterator[list[str]]:
    """So many command lines."""
    rng, known = random.Random(seed), dict(commands(get_command(app)))
    weights = [WEIGHTS.get(path[0], 1) for path in known]
    for _ in range(count):
        ((path, command),) = rng.choices(list(known.items()), weights)
        words, named = list(path), rng.sample(command.params, min(len(command.params), rng.choice([0, 1, 1, 2, 3, 4])))
        for parameter in command.params:
            if parameter in named or (parameter.param_type_name == "argument" and rng.random() < 0.9):
                words += drawn(parameter, path[0], rng, run_ids)
        if path[0] in ("train", "profile") and "--help" not in words:
            words += quick(path[0], words, rng)
        yield words if rng.random() < 0.98 else [*words, rng.choice(NASTY)]


def quick(command: str, words: list[str], rng: random.Random) -> list[str]:
    """What makes a training or a profile short, unless the words have said otherwise."""
    usual = {"--model": "mlp:width=8", "--data": "digits:size=8"}
    if command == "train":
        usual |= {"--batch-size": "64"} | ({} if "--epochs" in words else {"--iterations": "1"})
    else:
        usual |= {"--only": "layers", "--shape": "4x2", "--rounds": "5", "--budget": "1s"}
    words_for_it = [word for pair in usual.items() if pair[0] not in words for word in pair]
    return [*words_for_it, "--no-memory"] if command == "profile" else words_for_it


def drawn(parameter: Any, command: str, rng: random.Random, run_ids: list[str]) -> list[str]:
    """An option or an argument with a value."""
    name = str(parameter.name)
    if parameter.param_type_name == "argument":
        pool = run_ids if name in ("run", "runs") else CHEAP["kind"] if name == "kind" else ["backup.db"]
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


def spec(registry: Registry[Any], rng: random.Random) -> str:
    """A component, with parameters or joined with another, or one of torch's classes."""
    entry = rng.choice(list(registry.entries.values()))
    names = list(registry.parameters(entry))
    chosen = rng.sample(names, min(len(names), rng.choice([0, 0, 1, 1, 2])))
    pairs = ",".join(f"{name}={parameter_value(registry.parameters(entry)[name].type, rng)}" for name in chosen)
    text = f"{rng.choice([entry.name, *entry.aliases])}{':' * bool(pairs)}{pairs}"
    rest = [f"{text}+gn", f"ws+{text}", "torch.nn:LayerNorm", "torch.nn:Linear:bias=x", f"{text}:x", f"{text},x=1"]
    return rng.choice(rest) if rng.random() < 0.1 else text


def parameter_value(kind: Any, rng: random.Random) -> str:
    """A value for a parameter: one of its choices where it has some, or a number of any kind."""
    choices = [str(choice) for choice in get_args(kind) if isinstance(choice, str)]
    return rng.choice(choices) if choices and rng.random() < 0.7 else rng.choice(NUMBERS)


class Sandbox:
    """A folder with a home, a data folder, a working folder, and others in which nothing may appear.

    run_ids: of runs that are recorded in the home.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.run_ids: list[str] = []
        self.work, self.elsewhere = root / "work", [root / "user", root / "tmp"]
        for folder in (self.work, *self.elsewhere):
            folder.mkdir(exist_ok=True)

    def run(self, words: list[str]) -> list[str]:
        """Run a command line, and list the rules that it breaks."""
        there = set(self.places())
        code, out, err = run_here(words)
        lines = err.splitlines()
        broken = [f"exit code {code}"] if code not in CODES else []
        broken += [line for line in lines if line.startswith("normbench: unexpected")]
        broken += ["a traceback"] if "Traceback" in err and "--debug" not in words else []
        broken += [f"a warning: {line}" for line in lines if "Warning:" in line]
        errors = [line for line in lines if line.startswith("normbench: ")]
        if code not in (0, 4, 5) and len(errors) != 1 and "--debug" not in words:
            broken.append(f"{len(errors)} lines of error")
        broken += ["an escape sequence"] if "\x1b" in out + err else []
        named = {Path(part).parts[0] for word in words for part in (word, word.partition("=")[2]) if Path(part).parts}
        written = set(self.places()) - there - {"reports", *named}
        broken += [f"written: {place}" for place in sorted(written)]
        return broken

    def places(self) -> Iterator[str]:
        """What is in the working folder, by name, and in the folders in which nothing may appear."""
        yield from (path.name for path in self.work.iterdir())
        yield from (str(path) for folder in self.elsewhere for path in folder.iterdir())


def run_here(words: list[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command line; the streams encode as those of a pipe do."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict")
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    before, sys.argv = sys.argv, ["normbench", *words]
    try:
        with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("default")  # as a user has them
            try:
                main()
            except SystemExit as end:
                code = int(end.code or 0)
    finally:
        sys.argv = before
    out.flush()
    err.flush()
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return code, texts[0], texts[1]


def environment(root: Path) -> dict[str, str]:
    """The environment of a sandbox."""
    names = {"NORMBENCH_HOME": "home", "NORMBENCH_DATA": "data", "HOME": "user", "TMPDIR": "tmp"}
    return {name: os.fspath(root / folder) for name, folder in names.items()}
