"""A resolved configuration -> its training: model, data, objective, optimizer, schedule and probes, on the device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import torch
from torch import Tensor, nn

from normbench_cli.build.data import images_of, load_graphs
from normbench_cli.build.init import initialize
from normbench_cli.build.optim import make_optimizer, make_schedule
from normbench_cli.build.resolved_config import ResolvedConfig
from normbench_cli.build.unit_variance import scale_to_unit_variance
from normbench_cli.config import RunConfig
from normbench_cli.device import pick_device
from normbench_cli.engine.crossval import Curves, FoldPlan, assign_folds, cross_validate, shuffled_batches
from normbench_cli.engine.events import Progress, Record
from normbench_cli.engine.protocols import Batches, Data, ImageData, Inputs, Probe
from normbench_cli.engine.step import Learner
from normbench_cli.engine.training import Training
from normbench_cli.measure.probes import Drift, ModeGap, Probes
from normbench_cli.norms._compile import keep_headers_in_cache
from normbench_cli.registry import MODELS, OBJECTIVES

EVALUATION_BATCH = 500


def make_training(
    config: ResolvedConfig, data: ImageData | None = None, device: torch.device | None = None
) -> Training:
    """Everything that one run trains with.  Equal configurations give equal weights and the same order of the data.

    data, device: in place of those that the configuration names.
    """
    device = device or pick_device(config.device)
    if config.compile:
        keep_headers_in_cache()
    torch.manual_seed(config.seed)
    data = images_of(config) if data is None else data
    model = make_model(config, data)
    initialize(model, config)
    model.to(device)
    if config.channels_last:
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    batches = partial(data.batches, device=device, channels_last=bool(config.channels_last), workers=config.workers)
    if not config.pin_memory:  # data sets from outside may not know it
        batches = partial(batches, pin_memory=False)
    train = batches(data.train, config.batch_size, shuffle_seed=config.seed)
    if config.init == "lsuv":
        scale_to_unit_variance(model, next(iter(train.epoch(1))).inputs, config.init_gain)
    return Training(
        model=model,
        objective=OBJECTIVES.build(config.objective),
        records_objective=OBJECTIVES.parse(config.objective).entry.name != "erm",
        optimizer=make_optimizer(model, config),
        schedule=make_schedule(config),
        lr=config.lr,
        train=train,
        test=batches(data.test, EVALUATION_BATCH),
        validation=batches(data.validation, EVALUATION_BATCH) if data.validation else None,
        score_test=config.score_test,
        group_names=data.group_names,
        device=device,
        steps=config.iterations or (config.epochs or 0) * len(train),
        amp=config.amp,
        compile_mode=config.compile_mode,
        compiled_for=(config.batch_size, *data.shape) if config.compile else None,
        probes=make_probes(model, config, train),
    )


def make_model(config: RunConfig, data: Data) -> nn.Module:
    """The model for a data set's classes and channels, with torch's own initial weights."""
    model: nn.Module = MODELS.build(
        config.model, norm=config.norm, act=config.act, num_classes=data.classes, in_channels=data.channels
    )
    return model


def make_probes(model: nn.Module, config: RunConfig, train: Batches) -> list[Probe]:
    """The probes of a run that asks for them; the first batch of epoch 0 is their fixed example."""
    if not config.probes:
        return []
    first = next(iter(train.epoch(0)))
    return [
        Probes(model, config.probes, seed=config.seed),
        Drift(model),
        ModeGap(model, first.inputs, first.labels),
    ]


def graph_example(config: ResolvedConfig) -> tuple[Learner, Inputs, Tensor]:
    """A model for graphs with all that its training needs, and the first batch of the first fold: inputs, labels."""
    data, device = load_graphs(config.data), pick_device(config.device)
    torch.manual_seed(config.seed)
    model = make_model(config, data).to(device)
    objective, optimizer = OBJECTIVES.build(config.objective), make_optimizer(model, config)
    graphs = data.to(device)
    train = (assign_folds(graphs.labels.cpu(), config.folds, config.seed) != 0).nonzero()[:, 0]
    chosen = next(shuffled_batches(train, config.batch_size, torch.Generator().manual_seed(config.seed)))
    return Learner(model=model, objective=objective, optimizer=optimizer, device=device), *graphs.batch(chosen)


def cross_validation(
    config: ResolvedConfig, finished: Mapping[int, Curves] | None = None
) -> Iterator[Progress | Record]:
    """Train the folds of a cross-validation that are not finished yet, and yield its records."""
    data = load_graphs(config.data)
    plan = FoldPlan(
        folds=config.folds,
        epochs=config.epochs or 0,
        batch_size=config.batch_size,
        lr=config.lr,
        seed=config.seed,
        schedule=make_schedule(config),
        objective=OBJECTIVES.build(config.objective),
    )
    return cross_validate(
        partial(make_model, config, data),
        partial(make_optimizer, config=config),
        data.to(pick_device(config.device)),
        plan,
        finished,
    )
