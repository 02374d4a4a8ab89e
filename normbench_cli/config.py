"""RunConfig: everything that one run depends on, flat and frozen, and a fingerprint of what affects its result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, field, fields
from typing import Any, Literal, get_type_hints

from normbench_cli import recipes
from normbench_cli.config_checks import check_folds, check_processes
from normbench_cli.errors import UsageError
from normbench_cli.registry import ACTIVATIONS, DATASETS, MODELS, NORMS, OBJECTIVES, SCHEDULES, Registry
from normbench_cli.registry.bounds import Bounds
from normbench_cli.registry.spec import read_value, split_spec, suggest
from normbench_cli.registry.trust import NOBODY, Trust
from normbench_cli.seeds import LARGEST_SEED

REGISTRIES: dict[str, Registry[Any]] = {
    "norm": NORMS,
    "act": ACTIVATIONS,
    "model": MODELS,
    "data": DATASETS,
    "objective": OBJECTIVES,
    "schedule": SCHEDULES,
}
MANY = 1_000_000_000  # nobody waits for more epochs or steps; larger numbers do not fit everywhere
LENGTHS = {"epochs": "iterations", "iterations": "epochs"}  # each replaces the other
GRID_FIELDS = ("norm", "act", "model", "data", "objective")  # each takes several values, which span a grid


def setting(default: Any, sentence: str, *, identity: bool = True, later: bool = False, **bounds: Any) -> Any:
    """A field with its help sentence and its bounds.  identity: whether its value affects the result.  later: whether
    it was added after runs had been recorded, so the fingerprint leaves it out at its default."""
    facts = {"help": sentence, "identity": identity, "later": later, "bounds": Bounds(**bounds)}
    return field(default=default, metadata=facts)


@dataclass(frozen=True)
class RunConfig:
    """One training run.  Fields that name components hold canonical specs: ``bn`` becomes ``batchnorm``."""

    norm: str = setting("batchnorm", "normalization layer, name:key=value,...")
    act: str = setting("relu", "activation function")
    model: str = setting("resnet20", "network")
    data: str = setting("digits", "data set")
    objective: str = setting("erm", "training objective")
    recipe: str = setting(
        "",
        "named defaults for the other settings, or a .toml file of them; by default the data set's recipe",
        identity=False,
    )
    epochs: int | None = setting(None, "passes over the training set", least=1, most=MANY)
    iterations: int | None = setting(None, "training steps; replaces epochs", least=1, most=MANY)
    batch_size: int = setting(128, "examples per training step", least=1, most=MANY)
    folds: int = setting(0, "cross-validation folds; graph data sets only, where the default is 10", most=MANY)
    fold: int | None = setting(None, "train only this fold, counted from 0", later=True, least=0, most=MANY)
    split_seed: int | None = setting(
        None, "seed of the split into folds; by default the run's seed", later=True, least=0, most=LARGEST_SEED
    )
    optimizer: Literal["sgd", "adam", "adamw"] = setting("sgd", "optimizer")
    lr: float = setting(0.1, "peak learning rate", above=0)
    momentum: float = setting(0.9, "SGD momentum", least=0, below=1)
    weight_decay: float = setting(5e-4, "weight decay (L2 penalty)", least=0)
    weight_decay_on: Literal["all", "weights"] = setting(
        "all", "which parameters decay: all, or weights (not gamma, beta and biases)", later=True
    )
    gamma_init: float = setting(1.0, "initial value of every norm's gamma", later=True)
    beta_init: float = setting(0.0, "initial value of every norm's beta", later=True)
    schedule: str = setting("cosine", "learning-rate schedule")
    init: Literal["auto", "torch", "kaiming", "kaiming_fan_out", "xavier", "torchvision", "lsuv"] = setting(
        "auto",
        "weight initialization; auto: kaiming for ReLU-like activations, xavier for sigmoid and tanh; "
        "torchvision: as in its ResNets; lsuv: unit variance of every operation's output on the first batch",
    )
    init_gain: float = setting(1.0, "multiplier of the initial weights", later=True, above=0)
    validation: float = setting(
        0.0, "fraction of the training set to hold out for validation", later=True, least=0, below=1
    )
    score_test: Literal["epoch", "end", "never"] = setting(
        "epoch", "when to score the test set: every epoch, at the end, never", later=True
    )
    seed: int = setting(0, "seed of initial weights, data order and all other randomness", least=0, most=LARGEST_SEED)
    amp: Literal["auto", "off", "bf16", "fp16"] = setting(
        "off",
        "automatic mixed precision: off, bf16, fp16, or auto (whichever is fast on this device; recorded with the run)",
    )
    tf32: Literal["off", "conv", "all"] = setting(
        "conv",
        "TensorFloat-32 on GPUs: off, conv (convolutions only, torch's default) or all (matrix products too)",
        later=True,
    )
    nproc: int = setting(
        1, "data-parallel processes; each takes its share of every batch", later=True, least=1, most=65536
    )
    sync_norm: bool = setting(
        False,
        "compute norm statistics over all processes, not per process",
        later=True,
    )
    device: str = setting("auto", "device: auto, cpu, cuda, cuda:1, mps, ...", identity=False)
    compile: bool | None = setting(
        None,
        "compile the whole model with torch.compile; by default, long trainings decide by a trial and profiles do not "
        "compile",
        identity=False,
    )
    compile_mode: Literal["default", "reduce-overhead"] = setting(
        "default", "mode of torch.compile; reduce-overhead uses CUDA graphs", identity=False
    )
    channels_last: bool | None = setting(
        None, "channels-last memory format; by default for convolutional models", identity=False
    )
    cudnn_benchmark: bool = setting(False, "let cuDNN benchmark its algorithms for each new shape", identity=False)
    deterministic: bool = setting(False, "use deterministic algorithms only; fail where none exists", identity=False)
    pin_memory: bool = setting(True, "copy batches to the GPU asynchronously from pinned memory", identity=False)
    workers: int = setting(0, "data-loading processes", identity=False, least=0, most=1024)
    probes: int = setting(
        0, "steps between probes of weights, statistics and phi; 0: off", identity=False, least=0, most=MANY
    )
    checkpoint_epochs: int = setting(1, "epochs between checkpoints", identity=False, least=1, most=MANY)
    checkpoint_minutes: float = setting(10.0, "maximum minutes between checkpoints", identity=False, least=0)
    tag: str = setting("", "label for filtering runs", identity=False)
    note: str = setting("", "free text stored with the run", identity=False)

    def __post_init__(self) -> None:
        for name, registry in REGISTRIES.items():
            self._set(name, registry.canonical(getattr(self, name)))
        if self.epochs is None and self.iterations is None:
            self._set("epochs", 20)
        if self.epochs is not None and self.iterations is not None:
            raise UsageError("both epochs and iterations are given", "give one of them")
        for name, declared in FIELDS.items():
            declared.metadata["bounds"].check(name, getattr(self, name))
        if self.deterministic and self.cudnn_benchmark:
            raise UsageError("cuDNN's choice by time is not deterministic", "drop --cudnn-benchmark or --deterministic")
        self._check_graphs()
        check_folds(self, DEFAULTS)
        check_processes(self)
        if self.batch_size == 1 and NORMS.parse_norm(self.norm).needs_batch:
            raise UsageError(
                f"norm '{self.norm}' takes its statistics over the batch, and batch_size is 1",
                "give --batch-size 2 or more, or a norm without batch statistics",
            )

    def _check_graphs(self) -> None:
        """Graph data sets need a graph model and are cross-validated; image data sets have their own test set."""
        graphs = DATASETS.parse(self.data).entry.facts.graphs
        if graphs != MODELS.parse(self.model).entry.facts.graphs:
            fitting = [name for name, entry in MODELS.entries.items() if entry.facts.graphs == graphs]
            raise UsageError(
                f"data '{self.data}' are {'graphs' if graphs else 'images'}, which {self.model} cannot take",
                f"use {', '.join(fitting)}",
            )
        if graphs and self.folds == 0:
            self._set("folds", 10)
        if self.folds and not graphs:
            raise UsageError(f"folds is {self.folds}, and {self.data} has its own test set", "drop --folds")

    def _set(self, name: str, value: Any) -> None:
        """Replace a value by its canonical form; only for ``__post_init__``, because the config is frozen."""
        object.__setattr__(self, name, value)

    def fingerprint(self, parts: Mapping[str, Any] | None = None) -> str:
        """A hash of what affects the result, in sixteen hex digits; equal for equal runs on any machine.

        parts: digests of the data and of external components, if any (experiments/identity.py).
        """
        values = {name: getattr(self, name) for name in IDENTITY}
        matters = {name: value for name, value in values.items() if name not in LATER or value != DEFAULTS[name]}
        matters |= {"made_of": parts} if parts else {}  # the key as in recorded fingerprints
        text = json.dumps(matters, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


FIELDS: dict[str, Field[Any]] = {f.name: f for f in fields(RunConfig)}
TYPES: dict[str, Any] = {name: kind for name, kind in get_type_hints(RunConfig).items() if name in FIELDS}
DEFAULTS: dict[str, Any] = {name: f.default for name, f in FIELDS.items()}
IDENTITY = tuple(name for name, f in FIELDS.items() if f.metadata["identity"])
LATER = tuple(name for name, f in FIELDS.items() if f.metadata["later"])


def make_config(values: Mapping[str, Any], trust: Trust = NOBODY) -> RunConfig:
    """Make a config from untyped values (command-line text, JSON from a database), each converted to its field's type.

    trust: what may be imported for specs such as ``package.module:Class``: `USER` for specs written by the user; for
    those from a database or a file, the result of `recorded_in`; by default nothing.
    """
    check_specs(values, trust)
    typed = {}
    for name, value in with_recipe(values).items():
        check_name(name)
        typed[name] = read_value(value, TYPES[name], name)
    return RunConfig(**typed)


def check_specs(values: Mapping[str, Any], trust: Trust) -> None:
    """Raise before importing anything untrusted.  Specs that pass may be parsed again without a check."""
    for name, registry in REGISTRIES.items():
        spec = values.get(name)
        if spec is not None and not isinstance(spec, str):
            raise UsageError(f"{name} is {spec!r}, which is not text", "write name or name:key=value")
        if spec is not None:
            registry.canonical(spec, trust)


def with_recipe(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values on top of those of the recipe that they name, or else of their data set's default recipe."""
    name = values.get("recipe")
    if not name:
        data, _ = split_spec(values.get("data") or DEFAULTS["data"])
        name = DATASETS.find(data).facts.recipe
    if not name:
        return dict(values)
    if recipes.is_file(name):  # the values include its settings already, see axes/recipe_file.py
        if not {*FIELDS} - LENGTHS.keys() <= values.keys():
            raise UsageError(
                f"recipe {name} is a file, which only `train`, `tune` and experiment files accept",
                "name one of `list recipes`",
            )
        return dict(values)
    base = recipes.find(name).settings_for(values, DEFAULTS) | {"recipe": name}
    if not values.get("recipe"):
        base.pop("data", None)
        values = {key: value for key, value in values.items() if key != "recipe"}
    return lengths_replaced(base, values) | dict(values)


def lengths_replaced(base: Mapping[str, Any], by: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without epochs if `by` gives iterations, and vice versa."""
    replaced = {other for given, other in LENGTHS.items() if by.get(given) is not None}
    return {name: value for name, value in base.items() if name not in replaced}


def check_name(name: str) -> None:
    if name not in FIELDS:
        raise UsageError(f"there is no setting '{name}'", suggest(name, list(FIELDS)))
