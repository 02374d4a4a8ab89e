"""Suite files and experiments: the papers', or a small one, with damage in words, lines or bytes."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

from normbench_cli.config import FIELDS
from normbench_cli.registry import REGISTRIES
from normbench_cli.suites import catalog
from tests.fuzzing.words import damaged_bytes, damaged_text

NAME = "mine.toml"
NIGHTLY = catalog.FOLDER.parent / "nightly" / "suites"
SMALL_NIGHTLY = """
title = "a training and a layer"
remeasurements = 1

[minimum_effects]
time = 0.07

[settings]
device = "cpu"

[train.mlp]
norms = ["batchnorm", "augnorm:phi=1.5"]
data = "digits:size=8"
model = "mlp:width=8"
iterations = 1

[profile.layers]
norms = ["batchnorm"]
shapes = ["4x2"]
rounds = 5
"""
SMALL_EXPERIMENT = """
norm = ["batchnorm", "augnorm:phi=1.1..1.9/3"]
lr = "log:0.01..1/3"
batch-size = [16, 32, 64]
momentum = 0.9
init = ["xavier", "kaiming"]
model = "mlp:width=8"
data = "digits:size=8"
recipe = "./recipe.toml"
iterations = 1
seeds = "0-2"
note = "one, two"
zip = [["lr", "batch_size"]]
"""
SMALL_RECIPE = """
summary = "small"

[settings]
model = "mlp:width=8"
momentum = 0.5

[[exceptions]]
norm = "augnorm"
lr = 0.2
"""
SMALL = """
title = "Two norms"
metric = "test/accuracy"
unit = "%"
seeds = "0"
notes = ["one", "two"]

[settings]
data = "digits:size=8"
model = "mlp:width=8"
iterations = 1
batch_size = 64

[rows]
clean = {}
noisy = { metric = "test/accuracy@gaussian", attack = "gaussian", note = "with noise" }

[columns]
BN = { norm = "batchnorm" }

[marks.dagger]
kind = "suspect"
note = "a misprint"

[published.clean]
BN = { value = 97.0, sd = 0.2, marks = ["dagger"] }

[scales.short]
seeds = "0"
"""


@cache
def known_words() -> list[str]:
    components = [name for registry in REGISTRIES.values() for name in registry.entries]
    return [*FIELDS, *components, "rows", "columns", "published", "value", "sd", "[rows]", "{}", '{ norm = "bn" }']


@cache
def papers() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(catalog.FOLDER.glob("*/*.toml"))]


def suite_file(rng: random.Random) -> bytes:
    """The content of a suite file."""
    text = SMALL if rng.random() < 0.85 else rng.choice(papers())
    if rng.random() < 0.25:
        return damaged_bytes(text.encode(), rng)
    return damaged_text(text, rng, known_words()).encode("utf-8", "surrogateescape")


def is_short(content: bytes) -> bool:
    """Whether what a suite file asks for is trained in a moment."""
    kept = (b"iterations = 1\n", b'seeds = "0"\n\n', b'data = "digits:size=8"', b'model = "mlp:width=8"')
    return all(words in content for words in kept) and b"epochs" not in content


def write_suite(folder: Path, rng: random.Random) -> list[str]:
    """Write a suite file, and give the command that reads it; one in ten is run if that is short."""
    content = suite_file(rng)
    (folder / NAME).write_bytes(content)
    how = [] if rng.random() < 0.1 and is_short(content) else ["--dry-run"]
    return ["reproduce", NAME, "--scale", "smoke", *how, *rng.choice([[], ["--json"], ["-q"]])]


def nightly_file(rng: random.Random) -> bytes:
    """The content of a nightly suite's file."""
    texts = [SMALL_NIGHTLY, *(path.read_text(encoding="utf-8") for path in sorted(NIGHTLY.glob("*.toml")))]
    text = rng.choice(texts)
    if rng.random() < 0.25:
        return damaged_bytes(text.encode(), rng)
    words = [*known_words(), "train", "profile", "shapes", "rounds", "norms", '["4x2"]', "remeasurements"]
    return damaged_text(text, rng, words).encode("utf-8", "surrogateescape")


def write_nightly(folder: Path, rng: random.Random) -> list[str]:
    """Write a nightly suite's file, and give the command for a night that has no time to measure anything."""
    (folder / NAME).write_bytes(nightly_file(rng))
    return ["nightly", "--suite", NAME, "--budget", "0.001s", *rng.choice([[], ["--json"], ["-q"]])]


def write_experiment(folder: Path, rng: random.Random) -> list[str]:
    """Write an experiment and a recipe, one of them damaged, and give the command that reads both without training."""
    texts = {NAME: SMALL_EXPERIMENT, "recipe.toml": SMALL_RECIPE}
    wrong = rng.choice([NAME, NAME, "recipe.toml"])
    words = [*known_words(), "zip", "seeds", "[settings]", "[[exceptions]]", "1..2/3", "log:1..2/3", "[]"]
    for name, text in texts.items():
        damaged = (
            damaged_bytes(text.encode(), rng)
            if rng.random() < 0.2
            else damaged_text(text, rng, words).encode("utf-8", "surrogateescape")
        )
        (folder / name).write_bytes(damaged if name == wrong else text.encode())
    return [
        "train",
        NAME,
        "--save",
        "new.toml",
        *rng.choice([[], ["--json"], ["-q"], ["--lr", "0.1"], ["--epochs", "1"]]),
    ]
