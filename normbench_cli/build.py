"""RunConfig -> everything a run consists of: model, data, objective, optimizer, schedule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from normbench_cli.config import RunConfig
from normbench_cli.device import pick_device
from normbench_cli.engine.fold_statistics import Curves
from normbench_cli.engine.fold_training import Plan
from normbench_cli.engine.folds import assign, cross_validate
from normbench_cli.engine.loop import Probe, Training
from normbench_cli.engine.records import Progress, Record
from normbench_cli.errors import UsageError
from normbench_cli.measure.probes import Drift, ModeGap, Probes
from normbench_cli.places import data_root
from normbench_cli.registry import ACTIVATIONS, DATASETS, MODELS, OBJECTIVES, SCHEDULES

EVALUATION_BATCH = 500
SCHEMES: dict[str, Callable[[Tensor], Tensor]] = {
    "torch": partial(nn.init.kaiming_uniform_, a=5**0.5),  # what torch's own layers do
    "kaiming": partial(nn.init.kaiming_normal_, nonlinearity="relu"),
    "xavier": nn.init.xavier_normal_,
}


def check(config: RunConfig) -> int:
    """Make all parts once, weights on no device, so that what cannot work is said before anything is recorded.
    Gives the number of parameters."""
    pick_device(config.device)
    data = load_data(config.data)
    model = rehearse(config, data)
    OBJECTIVES.build(config.objective)
    make_schedule(config)(0.5)
    if config.folds:
        assign(data.labels, config.folds, config.seed)
    elif config.batch_size > len(data.train):
        raise UsageError(
            f"batch_size is {config.batch_size}, and {config.data} has {len(data.train)} samples to train with",
            f"give at most {len(data.train)}",
        )
    return sum(p.numel() for p in model.parameters())


def rehearse(config: RunConfig, data: Any) -> nn.Module:
    """The model, tried on torch's `meta` device, where a forward pass costs nothing and shows what does not fit."""
    try:
        with torch.device("meta"):
            model = build_model(config, data)
            if not config.folds:
                model(torch.empty(2, *data.shape))
    except ValueError as error:
        raise UsageError(f"{config.model} cannot take {config.data}: {error}") from error
    except (RuntimeError, NotImplementedError):
        return build_model(config, data)  # a layer of somebody's own may look at values, which are not there
    return model


def build(config: RunConfig) -> Training:
    """Everything, on its device; equal configs give equal weights and the same order of data."""
    device = pick_device(config.device)
    torch.manual_seed(config.seed)
    data = load_data(config.data)
    model = build_model(config, data)
    initialize(model, config)
    model.to(device)
    if config.channels_last:
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    batches = partial(data.batches, device=device, channels_last=config.channels_last, workers=config.workers)
    train = batches(data.train, config.batch_size, shuffle_seed=config.seed)
    steps = config.iterations or (config.epochs or 0) * len(train)
    probes: list[Probe] = []
    if config.probes:
        first = next(iter(train.epoch(0)))
        probes = [
            Probes(model, config.probes, seed=config.seed),
            Drift(model),
            ModeGap(model, first.inputs, first.labels),
        ]
    return Training(
        model=model,
        forward=torch.compile(model) if config.compile else None,
        objective=OBJECTIVES.build(config.objective),
        optimizer=make_optimizer(model, config),
        schedule=make_schedule(config),
        lr=config.lr,
        train=train,
        test=batches(data.test, EVALUATION_BATCH),
        validation=batches(data.validation, EVALUATION_BATCH) if data.validation else None,
        group_names=data.group_names,
        device=device,
        steps=steps,
        amp=config.amp,
        probes=probes,
    )


def cross_validation(config: RunConfig, finished: Mapping[int, Curves] | None = None) -> Iterator[Progress | Record]:
    """The records of a cross-validation, of the folds that are not finished yet."""
    device = pick_device(config.device)
    data = load_data(config.data)
    plan = Plan(
        folds=config.folds,
        epochs=config.epochs or 0,
        batch_size=config.batch_size,
        lr=config.lr,
        seed=config.seed,
        schedule=make_schedule(config),
        objective=OBJECTIVES.build(config.objective),
    )
    model, optimizer = partial(build_model, config, data), partial(make_optimizer, config=config)
    return cross_validate(model, optimizer, data.to(device), plan, finished)


def load_data(spec: str) -> Any:
    """A data set, once for all runs of a grid that use it: a `Dataset` of images, or another of that shape."""
    return load_from(spec, data_root())


@lru_cache(maxsize=2)
def load_from(spec: str, root: Path) -> Any:
    return DATASETS.build(spec)


def build_model(config: RunConfig, data: Any) -> nn.Module:
    return MODELS.build(
        config.model, norm=config.norm, act=config.act, num_classes=data.classes, in_channels=data.channels
    )


def initialize(model: nn.Module, config: RunConfig) -> None:
    """Initial weights.  Every operation draws from a generator of its own, so that two runs with the same seed begin
    with the same weights whatever norm stands between, and whether or not there are biases."""
    scheme = config.init
    if scheme == "auto":
        scheme = ACTIVATIONS.parse(config.act).entry.facts.get("gain", "kaiming")
    operations = [m for m in model.modules() if isinstance(m, nn.Conv1d | nn.Conv2d | nn.Conv3d | nn.Linear)]
    for index, op in enumerate(operations):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed * 100_003 + index)
            set_weight(op, SCHEMES[scheme](torch.empty_like(op.weight, memory_format=torch.contiguous_format)))
            if op.bias is not None and scheme == "torch":
                bound = op.weight[0].numel() ** -0.5
                nn.init.uniform_(op.bias, -bound, bound)
            elif op.bias is not None:
                nn.init.zeros_(op.bias)


def set_weight(op: Any, weight: Tensor) -> None:
    """Also where the weight is computed, as under weight normalization."""
    if parametrize.is_parametrized(op, "weight"):
        op.weight = weight
    else:
        with torch.no_grad():
            op.weight.copy_(weight)


def make_optimizer(model: nn.Module, config: RunConfig) -> torch.optim.Optimizer:
    """The optimizer.  A parameter that names a `weight_decay_group` of its own (DiffPhi's phi) is not decayed."""
    decayed = [p for p in model.parameters() if not hasattr(p, "weight_decay_group")]
    spared = [p for p in model.parameters() if hasattr(p, "weight_decay_group")]
    groups: list[dict[str, Any]] = [{"params": decayed, "weight_decay": config.weight_decay}]
    if spared:
        groups.append({"params": spared, "weight_decay": 0.0})
    if config.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=config.lr, momentum=config.momentum, fused=True)
    kind = torch.optim.Adam if config.optimizer == "adam" else torch.optim.AdamW
    return kind(groups, lr=config.lr, fused=True)


def make_schedule(config: RunConfig) -> Callable[[float], float]:
    """The schedule as a function of progress alone."""
    spec = SCHEDULES.parse(config.schedule)
    function = spec.entry.load()

    def share(progress: float) -> float:
        try:
            return float(function(progress, **spec.params))
        except (ValueError, ZeroDivisionError) as error:
            raise UsageError(f"schedule '{spec}': {error}") from error

    return share
