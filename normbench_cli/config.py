"""What one run is: a flat, frozen configuration that checks itself, and the fingerprint of what matters in it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, asdict, dataclass, field, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from normbench_cli.errors import UsageError
from normbench_cli.recipes import find as find_recipe
from normbench_cli.registry import ACTIVATIONS, DATASETS, MODELS, NORMS, OBJECTIVES, SCHEDULES, Registry
from normbench_cli.registry.spec import read_value, split_spec, suggest
from normbench_cli.seeds import LARGEST_SEED

REGISTRIES: dict[str, Registry[Any]] = {
    "norm": NORMS,
    "act": ACTIVATIONS,
    "model": MODELS,
    "data": DATASETS,
    "objective": OBJECTIVES,
    "schedule": SCHEDULES,
}
GRID_FIELDS = ("norm", "act", "model", "data", "objective")  # each takes several values, which make a grid


def setting(default: Any, sentence: str, *, identity: bool = True) -> Any:
    """A field with its one sentence; ``identity``: whether a different value makes a different result."""
    return field(default=default, metadata={"help": sentence, "identity": identity})


@dataclass(frozen=True)
class RunConfig:
    """One training run.  Component fields hold canonical specs: ``bn`` becomes ``batchnorm``."""

    norm: str = setting("batchnorm", "normalization layer, name:key=value,...")
    act: str = setting("relu", "activation function")
    model: str = setting("resnet20", "network")
    data: str = setting("digits", "data set")
    objective: str = setting("erm", "what training minimizes")
    recipe: str = setting(
        "", "named settings, which the others override; each data set has one that is taken by default", identity=False
    )
    epochs: int | None = setting(None, "passes over the training set")
    iterations: int | None = setting(None, "training steps, instead of epochs")
    batch_size: int = setting(128, "samples a training step")
    folds: int = setting(0, "folds of a cross-validation; for data sets of graphs alone, where the default is 10")
    optimizer: Literal["sgd", "adam", "adamw"] = setting("sgd", "optimizer")
    lr: float = setting(0.1, "largest learning rate of the schedule")
    momentum: float = setting(0.9, "momentum of SGD")
    weight_decay: float = setting(5e-4, "L2 penalty on every parameter")
    schedule: str = setting("cosine", "learning-rate schedule")
    init: Literal["auto", "torch", "kaiming", "xavier"] = setting(
        "auto", "initial weights; auto: kaiming for ReLU-like activations, xavier for sigmoid and tanh"
    )
    seed: int = setting(0, "seed of initial weights, data order and everything random")
    amp: Literal["auto", "off", "bf16", "fp16"] = setting(
        "off", "automatic mixed precision; auto: what this device is fast at, recorded as what it came to"
    )
    device: str = setting("auto", "auto, cpu, cuda, cuda:1, mps, ...", identity=False)
    compile: bool | None = setting(
        None, "compile the whole model with torch.compile; by default where the training is long", identity=False
    )
    channels_last: bool | None = setting(
        None, "keep images channels-last in memory; by default for models that convolve", identity=False
    )
    workers: int = setting(0, "processes that load data", identity=False)
    probes: int = setting(
        0, "look into the model every so many steps: weights, statistics, phi; 0: never", identity=False
    )
    checkpoint_epochs: int = setting(1, "epochs from one checkpoint to the next", identity=False)
    checkpoint_minutes: float = setting(10.0, "minutes from one checkpoint to the next at most", identity=False)
    tag: str = setting("", "a word to find the run by", identity=False)
    note: str = setting("", "a sentence kept with the run", identity=False)

    def __post_init__(self) -> None:
        for name, registry in REGISTRIES.items():
            self._put(name, registry.canonical(getattr(self, name)))
        if self.epochs is None and self.iterations is None:
            self._put("epochs", 20)
        if self.epochs is not None and self.iterations is not None:
            raise UsageError("both epochs and iterations are given", "give one of them")
        for name, least in (
            ("epochs", 1),
            ("iterations", 1),
            ("batch_size", 1),
            ("workers", 0),
            ("seed", 0),
            ("probes", 0),
            ("checkpoint_epochs", 1),
        ):
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"{name} is {value}", f"give {least} or more")
        if self.seed > LARGEST_SEED:
            raise UsageError(f"seed is {self.seed}", f"give at most {LARGEST_SEED}")
        for name in ("lr", "momentum", "weight_decay"):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0 or (name == "lr" and value == 0):
                raise UsageError(
                    f"{name} is {value}", "give a finite number above 0" if name == "lr" else "give 0 or more"
                )
        if self.momentum >= 1:
            raise UsageError(f"momentum is {self.momentum}", "give a number below 1")
        self._check_graphs()
        if self.batch_size == 1 and NORMS.parse_norm(self.norm).needs_batch:
            raise UsageError(
                f"norm '{self.norm}' takes its statistics over the batch, and batch_size is 1",
                "give --batch-size 2 or more, or a norm without batch statistics",
            )

    def _check_graphs(self) -> None:
        """Data sets of graphs go with models for graphs and with cross-validation, and nothing else does."""
        graphs = DATASETS.parse(self.data).entry.facts.graphs
        if graphs != MODELS.parse(self.model).entry.facts.graphs:
            right = [name for name, entry in MODELS.entries.items() if entry.facts.graphs == graphs]
            what = "graphs" if graphs else "images"
            raise UsageError(
                f"data '{self.data}' are {what}, which {self.model} cannot take", f"use {', '.join(right)}"
            )
        if graphs and self.folds == 0:
            self._put("folds", 10)
        if self.folds and not graphs:
            raise UsageError(f"folds is {self.folds}, and {self.data} has its own test set", "drop --folds")
        if self.folds == 1 or self.folds < 0:
            raise UsageError(f"folds is {self.folds}", "give 2 or more")
        if self.folds and self.iterations:
            raise UsageError("a cross-validation is counted in epochs, and iterations are given", "give --epochs")
        if self.folds and (self.amp not in ("auto", "off") or self.compile):
            what = f"amp is {self.amp}" if self.amp not in ("auto", "off") else "compile is on"
            raise UsageError(f"{what}, and a cross-validation computes as it is written", "leave it away")
        if self.folds and self.init not in ("auto", "torch"):
            raise UsageError(f"init is {self.init}, and models for graphs bring their own", "leave it away")

    def _put(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)  # the one moment at which a frozen config changes: while it is made

    def fingerprint(self) -> str:
        """Sixteen hex digits over what matters to the result; equal for equal runs on any machine."""
        matters = {name: getattr(self, name) for name in IDENTITY}
        text = json.dumps(matters, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


FIELDS: dict[str, Field[Any]] = {f.name: f for f in fields(RunConfig)}
TYPES: dict[str, Any] = {name: kind for name, kind in get_type_hints(RunConfig).items() if name in FIELDS}
IDENTITY = tuple(name for name, f in FIELDS.items() if f.metadata["identity"])


def make_config(values: Mapping[str, Any]) -> RunConfig:
    """A config from loose values (text from a command line, JSON from a database), each read by its field's type."""
    typed = {}
    for name, value in with_recipe(values).items():
        if name not in FIELDS:
            raise UsageError(f"there is no setting '{name}'", suggest(name, list(FIELDS)))
        typed[name] = read_value(value, TYPES[name], name)
        _check_choice(name, typed[name])
    return RunConfig(**typed)


def with_recipe(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values over those of the recipe that they name, or else of the one that goes with their data set."""
    name = values.get("recipe")
    if not name:
        data, _ = split_spec(values.get("data") or default_of("data"))
        name = DATASETS.find(data).facts.recipe
    if not name:
        return dict(values)
    base = find_recipe(name).settings_for(values.get("norm") or default_of("norm")) | {"recipe": name}
    if not values.get("recipe"):
        base.pop("data", None)
        values = {key: value for key, value in values.items() if key != "recipe"}
    for given, other in (("epochs", "iterations"), ("iterations", "epochs")):
        if values.get(given) is not None:
            base.pop(other, None)
    return base | dict(values)


def _check_choice(name: str, value: Any) -> None:
    kind = TYPES[name]
    if get_origin(kind) is Literal and value not in get_args(kind):
        raise UsageError(f"{name}={value} is not one of {', '.join(get_args(kind))}", "choose one of them")


def read_settings(pairs: list[str]) -> dict[str, str]:
    """``--set key=value`` words -> a dictionary, names checked."""
    values = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--set {pair} is not key=value", "write --set key=value")
        if key not in FIELDS:
            raise UsageError(f"there is no setting '{key}'", suggest(key, list(FIELDS)))
        values[key] = value
    return values


def default_of(name: str) -> Any:
    default = FIELDS[name].default
    return None if default is MISSING else default
