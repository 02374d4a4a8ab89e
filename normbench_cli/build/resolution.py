"""Resolution: chooses a configuration's device-dependent settings, once, before its run is recorded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from normbench_cli.build.assemble import make_model, splits_of_folds
from normbench_cli.build.compile_trial import compile_pays_off
from normbench_cli.build.data import images_of, load_data, loaded_data
from normbench_cli.build.network_checks import (
    check_groups,
    check_memory,
    check_objective,
    check_scores,
    check_sync,
    refusing_single_values,
)
from normbench_cli.build.optim import check_schedule, make_schedule
from normbench_cli.build.resolved_config import ResolvedConfig
from normbench_cli.config import DEFAULTS, FIELDS, RunConfig
from normbench_cli.device import check_devices, compiling_pays, fast_precision, pick_device, takes_flags
from normbench_cli.engine.events import Notice
from normbench_cli.engine.protocols import GraphData, ImageData
from normbench_cli.errors import UsageError, first_sentence
from normbench_cli.objectives.protocols import LeavesOut
from normbench_cli.paths import data_root
from normbench_cli.registry import OBJECTIVES

GPU_SETTINGS = ("tf32", "compile_mode", "cudnn_benchmark")
FEW_LOSSES = 4096  # enough to test an objective


def check(config: RunConfig) -> None:
    """Raise a UsageError if a configuration cannot work: make every part once, with weights on the `meta` device."""
    pick_device(config.device)
    if config.nproc > 1:
        check_devices(config.device, config.nproc)
    if config.sync_norm:
        check_sync(config.norm)
    data = load_data(config.data)
    meta_forward(config)
    check_objective(OBJECTIVES.build(config.objective), config.objective, min(config.batch_size, FEW_LOSSES))
    check_schedule(make_schedule(config), config.schedule)
    if isinstance(data, GraphData):
        splits_of_folds(config)
    elif config.batch_size > (examples := len(images_of(config).train)):
        raise UsageError(
            f"batch_size is {config.batch_size}, and {config.data} has {examples} examples to train with",
            f"give at most {examples}",
        )


def resolve(
    config: RunConfig,
    on_event: Callable[[Notice], object] = lambda event: None,
    *,
    trial: Callable[[ResolvedConfig], bool] | None = compile_pays_off,
) -> ResolvedConfig:
    """Check a configuration and choose the settings that it leaves open: precision, memory format, compiling.

    If training is long enough for compiling to pay off, a `trial` finds out whether it does, after a notice.  Without a
    trial the model is not compiled.
    """
    check(config)
    for name in meaningless(config):
        on_event(Notice(f"{name} is {getattr(config, name)}, which has no effect on this device and is ignored"))
    amp = resolved_amp(config)
    if config.folds:
        return with_choices(config, amp=amp, compile=False, channels_last=False)
    channels_last = meta_forward(config).convolves if config.channels_last is None else config.channels_last
    resolved = with_choices(config, amp=amp, compile=bool(config.compile), channels_last=channels_last)
    if trial is not None and needs_compile_trial(config):
        on_event(Notice("trying whether compiling the model pays (--compile or --no-compile decides)"))
        return replace(resolved, compile=trial(resolved))
    return resolved


def with_choices(config: RunConfig, **choices: str | bool) -> ResolvedConfig:
    return ResolvedConfig(**{name: getattr(config, name) for name in FIELDS} | choices | meaningless(config))


def meaningless(config: RunConfig) -> dict[str, Any]:
    """GPU settings that a configuration changes on another device, mapped to the defaults that replace them."""
    changed = [name for name in GPU_SETTINGS if getattr(config, name) != DEFAULTS[name]]
    return {name: DEFAULTS[name] for name in changed if not takes_flags(pick_device(config.device))}


def resolved_amp(config: RunConfig) -> str:
    """The precision of a configuration on its device; cross-validation uses float32."""
    if config.folds:
        return "off"
    return fast_precision(pick_device(config.device)) if config.amp == "auto" else config.amp


def resolved_fingerprint(config: RunConfig, parts: Mapping[str, Any] | None = None) -> str:
    """The fingerprint of a configuration after resolution, without the cost of resolving: of the open settings, only
    the precision is part of a run's identity."""
    return RunConfig(**config.to_dict() | {"amp": resolved_amp(config)} | meaningless(config)).fingerprint(parts)


def needs_compile_trial(config: RunConfig) -> bool:
    """Whether compiling is left open, and training is long enough for it to pay off."""
    if config.compile is not None or config.folds or config.nproc > 1:
        return False
    examples = (config.iterations or 0) * config.batch_size
    examples = examples or (config.epochs or 0) * len(images_of(config).train)
    operations = 3 * meta_forward(config).operations * examples  # a backward pass costs two forward passes
    return compiling_pays(pick_device(config.device), operations)


def config_warnings(config: RunConfig) -> Iterator[str]:
    """Warnings about valid but probably unintended settings."""
    objective = OBJECTIVES.build(config.objective)
    fraction = objective.eps if isinstance(objective, LeavesOut) else 0.0
    if 0 < fraction * config.batch_size < 1:
        yield (
            f"{config.objective} leaves out a fraction of {fraction:g}, which is no example of a batch of "
            f"{config.batch_size}; give a batch of at least {math.ceil(1 / fraction)}, "
            f"or a fraction of at least {1 / config.batch_size:.2g}"
        )


@dataclass(frozen=True)
class MetaForward:
    """Facts about a model from a forward pass on the `meta` device."""

    operations: float  # floating-point operations per example; 0 if they cannot be counted
    convolves: bool
    network: nn.Module  # without weights


def meta_forward(config: RunConfig) -> MetaForward:
    """Run the model forward on torch's `meta` device, which costs nothing and reveals what does not fit."""
    digest = loaded_data(config.data).digest
    return _meta_forward(config.model, config.norm, config.act, config.data, data_root(), digest)


def meta_network(config: RunConfig) -> nn.Module:
    """The network of a configuration, without weights."""
    return meta_forward(config).network


@lru_cache(maxsize=64)  # runs of a grid that differ in their seed or learning rate have the same network
def _meta_forward(model: str, norm: str, act: str, data_spec: str, root: Path, digest: str) -> MetaForward:  # noqa: ARG001
    config, data = RunConfig(model=model, norm=norm, act=act, data=data_spec), load_data(data_spec)
    try:
        with torch.device("meta"):
            check_groups(config.norm, lambda norm: make_model(replace(config, norm=norm), data))
            network = make_model(config, data)
        check_memory(network, model)
        with torch.device("meta"), FlopCounterMode(display=False) as counter:
            forward_once(network, config, data)
        operations = counter.get_total_flops() / 2
    except ValueError as error:
        raise UsageError(f"{model} cannot take {data_spec}: {error}") from error
    except (RuntimeError, NotImplementedError):  # a user's layer may read values, which do not exist
        network, operations = try_for_real(config, data), 0.0
    return MetaForward(operations, any(isinstance(module, nn.Conv2d) for module in network.modules()), network)


def forward_once(network: nn.Module, config: RunConfig, data: ImageData | GraphData) -> None:
    """Run the network on two images; the shapes of graphs are not known in advance."""
    if isinstance(data, ImageData):
        with refusing_single_values(network, config.norm):
            check_scores(network(torch.zeros(2, *data.shape)), data.classes, config.model)


def try_for_real(config: RunConfig, data: ImageData | GraphData) -> nn.Module:
    """Run the forward pass on the CPU; an error there is the component's, and reported in one line."""
    with torch.random.fork_rng(devices=[]):
        try:
            network = make_model(config, data)
            forward_once(network, config, data)
        except UsageError:
            raise
        except Exception as error:  # a user's layer may fail in any way
            names = f"{config.model} with norm {config.norm} and act {config.act}"
            raise UsageError(f"{names} cannot take {config.data}: {first_sentence(error)}") from error
    return network.to("meta")
