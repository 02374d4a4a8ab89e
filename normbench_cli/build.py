"""RunConfig -> everything a run consists of: model, data, objective, optimizer, schedule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize
from torch.utils.flop_counter import FlopCounterMode

from normbench_cli.config import RunConfig
from normbench_cli.device import compiling_pays, fast_precision, has_fused_optimizers, pick_device
from normbench_cli.engine.crossval import Curves, FoldPlan, assign_folds, cross_validate
from normbench_cli.engine.events import Progress, Record
from normbench_cli.engine.protocols import Probe
from normbench_cli.engine.step import train_step
from normbench_cli.engine.training import Training
from normbench_cli.errors import UsageError
from normbench_cli.measure.probes import Drift, ModeGap, Probes
from normbench_cli.measure.timing import time_interleaved
from normbench_cli.operations import Operation
from normbench_cli.paths import data_root
from normbench_cli.registry import ACTIVATIONS, DATASETS, MODELS, OBJECTIVES, SCHEDULES
from normbench_cli.seeds import derive

EVALUATION_BATCH = 500
SCHEMES: dict[str, Callable[[Tensor], Tensor]] = {
    "torch": partial(nn.init.kaiming_uniform_, a=5**0.5),  # what torch's own layers do
    "kaiming": partial(nn.init.kaiming_normal_, nonlinearity="relu"),
    "xavier": nn.init.xavier_normal_,
}


def check(config: RunConfig) -> RunConfig:
    """Make all parts once, weights on no device, so that what cannot work is said before anything is recorded.
    Gives the config with what it left open chosen for this device; where a training is long enough for compiling to
    pay, only a trial can tell whether it does (`faster_compiled`), and that is still left open."""
    device = pick_device(config.device)
    data = load_data(config.data)
    model, operations = rehearse(config, data)
    OBJECTIVES.build(config.objective)
    make_schedule(config)(0.5)
    if config.folds:
        assign_folds(data.labels, config.folds, config.seed)
        return replace(config, amp="off", compile=False, channels_last=False)
    if config.batch_size > len(data.train):
        raise UsageError(
            f"batch_size is {config.batch_size}, and {config.data} has {len(data.train)} samples to train with",
            f"give at most {len(data.train)}",
        )
    samples = (config.iterations or 0) * config.batch_size or (config.epochs or 0) * len(data.train)
    choices: dict[str, Any] = {}
    if config.amp == "auto":
        choices["amp"] = fast_precision(device)
    if config.compile is None and not compiling_pays(device, 3 * operations * samples):  # backward is two forwards
        choices["compile"] = False
    if config.channels_last is None:
        choices["channels_last"] = any(isinstance(m, nn.Conv2d) for m in model.modules())
    return replace(config, **choices)


def remarks(config: RunConfig) -> Iterator[str]:
    """What may be, but is hardly meant."""
    share = getattr(OBJECTIVES.build(config.objective), "eps", 0.0)
    if 0 < share * config.batch_size < 1:
        yield (
            f"{config.objective} leaves out a share of {share:g}: no sample of a batch of {config.batch_size}; "
            f"one from a batch of {math.ceil(1 / share)} on, or from a share of {1 / config.batch_size:.2g}"
        )


def rehearse(config: RunConfig, data: Any) -> tuple[nn.Module, float]:
    """The model, tried on torch's `meta` device, where a forward pass costs nothing and shows what does not fit; and
    how many floating-point operations that takes for a sample (0 if it cannot be known)."""
    try:
        with torch.device("meta"), FlopCounterMode(display=False) as counter:
            model = build_model(config, data)
            if not config.folds:
                model(torch.empty(2, *data.shape))
    except ValueError as error:
        raise UsageError(f"{config.model} cannot take {config.data}: {error}") from error
    except (RuntimeError, NotImplementedError):
        return build_model(config, data), 0.0  # a layer of somebody's own may look at values, which are not there
    return model, counter.get_total_flops() / 2


def build(config: RunConfig) -> Training:
    """Everything, on its device; equal configs give equal weights and the same order of data."""
    if config.amp == "auto" or config.channels_last is None:
        config = check(config)
    device = pick_device(config.device)
    torch.manual_seed(config.seed)
    data = load_data(config.data)
    model = build_model(config, data)
    initialize(model, config)
    model.to(device)
    if config.channels_last:
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    batches = partial(data.batches, device=device, channels_last=bool(config.channels_last), workers=config.workers)
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
        compiled_for=(config.batch_size, *data.shape) if config.compile else None,
        probes=probes,
    )


def faster_compiled(config: RunConfig) -> bool:
    """Whether training steps of this config take less time compiled, found out by a few of each in turns."""
    steps: dict[str, Callable[[], object]] = {}
    for name, compiled in (("as it is", False), ("compiled", True)):
        training = build(replace(config, compile=compiled, probes=0))
        batch = next(iter(training.train.epoch(1)))
        training.model.train()
        steps[name] = partial(train_step, training, batch.inputs, batch.labels)
    plain, compiled_one = time_interleaved(steps, pick_device(config.device), rounds=7)
    return compiled_one.median < plain.median


def cross_validation(config: RunConfig, finished: Mapping[int, Curves] | None = None) -> Iterator[Progress | Record]:
    """The records of a cross-validation, of the folds that are not finished yet."""
    device = pick_device(config.device)
    data = load_data(config.data)
    plan = FoldPlan(
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
        scheme = ACTIVATIONS.parse(config.act).entry.facts.init
    operations = [m for m in model.modules() if isinstance(m, Operation)]
    for index, op in enumerate(operations):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derive(config.seed, "weights", index))
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
    fused = all(has_fused_optimizers(p.device) for p in decayed)
    if config.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=config.lr, momentum=config.momentum, fused=fused)
    kind = torch.optim.Adam if config.optimizer == "adam" else torch.optim.AdamW
    return kind(groups, lr=config.lr, fused=fused)


def make_schedule(config: RunConfig) -> Callable[[float], float]:
    """The schedule as a function of progress alone."""
    schedule = SCHEDULES.build(config.schedule)

    def share(progress: float) -> float:
        try:
            return float(schedule(progress))
        except (ValueError, ZeroDivisionError) as error:
            raise UsageError(f"schedule '{config.schedule}': {error}") from error

    return share
