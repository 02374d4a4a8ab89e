"""Specs of components: names with parameters, joined ones, classes of torch, and damaged ones."""

from __future__ import annotations

import random
from typing import Any, get_args

from normbench_cli.config import REGISTRIES as SETTINGS
from normbench_cli.registry import Registry
from tests.fuzzing.words import NUMBERS, damaged_text


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


def damaged_spec(registry: Registry[Any], rng: random.Random) -> str:
    """A spec in which anything may be wrong."""
    text = spec(registry, rng)
    return damaged_text(text, rng, [*registry.entries, *NUMBERS]) if rng.random() < 0.5 else text


def spec_line(rng: random.Random, run_ids: list[str]) -> list[str]:
    """A command that reads specs: most look for runs, some build what the specs name and train nothing."""
    names = rng.sample(sorted(SETTINGS), rng.choice([1, 1, 2, 3]))
    values = {name: damaged_spec(SETTINGS[name], rng) for name in names}
    if rng.random() < 0.75:
        reading = rng.choice([["runs", "list"], ["report"], ["report", "--json"]])
        return [*reading, *(word for name, value in values.items() for word in ("--where", f"{name}={value}"))]
    small = {"model": "mlp:width=8", "data": "digits:size=8"}
    settings = values | {name: rng.choice([small[name], values.get(name, "nosuch")]) for name in small}
    if settings["model"] not in ("mlp:width=8", "nosuch"):  # a large network takes seconds to make
        settings["norm"] = "nosuch:x=1"
    words = [word for name, value in settings.items() for word in (f"--{name}", value)]
    return ["train", "--dry-run", "--iterations", "1", "--batch-size", "64", *words]
