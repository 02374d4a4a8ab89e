"""Makes a training run from a resolved configuration: model, data, objective, optimizer, schedule and probes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import torch
from torch import Tensor, nn

from normbench_cli.build.data import images_of, load_graphs
from normbench_cli.build.init import initialize
from normbench_cli.build.optim import make_optimizer, make_schedule
from normbench_cli.build.resolved_config import ResolvedConfig
from normbench_cli.build.unit_variance import scale_to_unit_variance
from normbench_cli.config import RunConfig
from normbench_cli.datasets._images.held_out import held_out
from normbench_cli.device import pick_device
from normbench_cli.engine.crossval import Curves, FoldPlan, FoldSplits, cross_validate, shuffled_batches
from normbench_cli.engine.data_parallel import DataParallel, parts_of
from normbench_cli.engine.events import Progress, Record
from normbench_cli.engine.protocols import Batches, Data, ImageData, Inputs, Probe
from normbench_cli.engine.step import Learner
from normbench_cli.engine.training import Training
from normbench_cli.errors import UsageError, first_sentence
from normbench_cli.measure.probes import Drift, ModeGap, Probes
from normbench_cli.norms._compile import keep_headers_in_cache
from normbench_cli.norms.protocols import sync_norms
from normbench_cli.registry import MODELS, OBJECTIVES

EVALUATION_BATCH = 500


def make_training(
    config: ResolvedConfig,
    data: ImageData | None = None,
    device: torch.device | None = None,
    parallel: DataParallel | None = None,
) -> Training:
    """Make a training run.  Equal configurations give equal weights and the same order of the data.

    data, device: override those of the configuration.
    parallel: this process's place in a data-parallel group; None: it trains, or only scores, alone.
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
    if not config.pin_memory:  # users' data sets may not support it
        batches = partial(batches, pin_memory=False)
    train = batches(data.train, config.batch_size, shuffle_seed=config.seed)
    if config.init == "lsuv":
        scale_to_unit_variance(model, next(iter(train.epoch(1))).inputs, config.init_gain)
    if parallel is not None:
        train = parts_of(train, parallel)
        if parallel.synced:
            sync_norms(model)
    scores = parallel is None or parallel.is_first
    return Training(
        model=model,
        parallel=parallel,
        objective=OBJECTIVES.build(config.objective),
        records_objective=OBJECTIVES.parse(config.objective).entry.name != "erm",
        optimizer=make_optimizer(model, config),
        schedule=make_schedule(config),
        lr=config.lr,
        train=train,
        test=batches(data.test, EVALUATION_BATCH),
        validation=batches(data.validation, EVALUATION_BATCH) if data.validation and scores else None,
        score_test=config.score_test if scores else "never",
        group_names=data.group_names,
        device=device,
        steps=config.iterations or (config.epochs or 0) * len(train),
        amp=config.amp,
        compile_mode=config.compile_mode,
        compiled_for=(config.batch_size, *data.shape) if config.compile else None,
        probes=make_probes(model, config, train),
    )


def make_model(config: RunConfig, data: Data) -> nn.Module:
    """Make the model for a data set's classes and channels, with torch's own initial weights."""
    model: nn.Module = MODELS.build(
        config.model, norm=config.norm, act=config.act, num_classes=data.classes, in_channels=data.channels
    )
    return model


def make_probes(model: nn.Module, config: RunConfig, train: Batches) -> list[Probe]:
    """Make the probes of a run, if enabled; the first batch of epoch 0 is their fixed example."""
    if not config.probes:
        return []
    first = next(iter(train.epoch(0)))
    return [
        Probes(model, config.probes, seed=config.seed),
        Drift(model),
        ModeGap(model, first.inputs, first.labels),
    ]


def graph_example(config: ResolvedConfig) -> tuple[Learner, Inputs, Tensor]:
    """A learner for graphs, and the first batch of its fold (0 by default): inputs, labels."""
    data, device = load_graphs(config.data), pick_device(config.device)
    torch.manual_seed(config.seed)
    model = make_model(config, data).to(device)
    objective, optimizer = OBJECTIVES.build(config.objective), make_optimizer(model, config)
    graphs = data.to(device)
    train = splits_of_folds(config)[config.fold or 0].train
    chosen = next(shuffled_batches(train, config.batch_size, torch.Generator().manual_seed(config.seed)))
    return Learner(model=model, objective=objective, optimizer=optimizer, device=device), *graphs.batch(chosen)


def cross_validation(
    config: ResolvedConfig, finished: Mapping[int, Curves] | None = None
) -> Iterator[Progress | Record]:
    """Train the unfinished folds of a cross-validation and yield its records."""
    data = load_graphs(config.data)
    return cross_validate(
        partial(make_model, config, data),
        partial(make_optimizer, config=config),
        data.to(pick_device(config.device)),
        fold_plan(config),
        finished,
    )


def fold_plan(config: RunConfig) -> FoldPlan:
    """How the folds of a cross-validation are trained and scored."""
    return FoldPlan(
        folds=config.folds,
        epochs=config.epochs or 0,
        batch_size=config.batch_size,
        lr=config.lr,
        seed=config.seed,
        schedule=make_schedule(config),
        objective=OBJECTIVES.build(config.objective),
        fold=config.fold,
        split_seed=config.split_seed,
        hold_out=holding_out(config.validation) if config.validation else None,
        score_test=config.score_test,
    )


def holding_out(fraction: float) -> Callable[[Tensor, int], tuple[Tensor, Tensor]]:
    return lambda labels, seed: held_out(labels, fraction, seed)


def splits_of_folds(config: RunConfig) -> list[FoldSplits]:
    """The training, validation and test graphs of each fold."""
    labels = load_graphs(config.data).labels.cpu()
    try:
        return fold_plan(config).splits(labels)
    except ValueError as error:  # a fraction that holds out nothing, or everything
        raise UsageError(f"validation is {config.validation:g}: {first_sentence(error)}", "give another") from error
