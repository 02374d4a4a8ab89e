"""What a profile measures, and for how long; checked before anything is measured or recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch

from normbench_cli import build
from normbench_cli.build import ResolvedConfig
from normbench_cli.build.resolution import resolved_amp, with_choices
from normbench_cli.config import RunConfig, make_config
from normbench_cli.device import has_float64, pick_device, takes_flags
from normbench_cli.errors import UsageError
from normbench_cli.experiments.profiling.activations import Activations
from normbench_cli.experiments.profiling.shapes import SHAPES
from normbench_cli.experiments.profiling.steps import STEPS, Place
from normbench_cli.measure.cases import CALLS, DTYPES, MEMORY_FORMATS, PASSES, LayerCase
from normbench_cli.measure.start import STARTS
from normbench_cli.measure.workloads import SEARCHING
from normbench_cli.registry import NORMS
from normbench_cli.registry.spec import suggest
from normbench_cli.registry.trust import USER

REFERENCES = ("none", "batchnorm")
Shape = tuple[int, ...]


@dataclass(frozen=True)
class ProfilePlan:
    """What is profiled: configurations that differ in their norm, as layers in some cases, as training steps, or both.

    cases: each with the number of times that a network calls its norms so.  rounds: each times every contender once.
    precision: further rounds follow until every ratio is known to this relative precision, or the `seconds` for all
    comparisons are used up.  memory: whether peaks are measured.  steps, starts: of the model, see `steps.py` and
    `measure/start.py`.  activations: inputs of the layers, in place of normally distributed data.
    """

    configs: tuple[ResolvedConfig, ...]
    cases: Mapping[LayerCase, int]
    model: bool
    rounds: int
    precision: float | None
    seconds: float
    memory: bool = False
    steps: tuple[str, ...] = ("train",)
    starts: tuple[str, ...] = ("warm",)
    activations: Activations | None = None

    @property
    def device(self) -> torch.device:
        return pick_device(self.configs[0].device)

    @property
    def places(self) -> int:
        """The number of comparisons."""
        return len(list(places(self)))

    @property
    def identity(self) -> list[Any]:
        """The part of a profile's fingerprint that the configurations do not cover."""
        shapes = list(dict.fromkeys(case.shape for case in self.cases))
        labels = [case.label for case in self.cases]
        usual = [LayerCase(shape).label for shape in shapes]
        identity: list[Any] = [shapes, self.model, *([labels] if labels != usual else [])]
        steps = [place.condition for place in places(self) if place.case is None]
        if steps not in ([], [self.configs[0].model]):
            identity.append(steps)
        return [*identity, self.activations.identity] if self.activations else identity


def places(plan: ProfilePlan) -> Iterator[Place]:
    """Yield the comparisons: the layers in each case, then the steps of the model."""
    for case, count in plan.cases.items():
        yield Place(case=case, count=count, source=plan.activations.source(case.shape) if plan.activations else {})
    config = plan.configs[0]
    steps = dict.fromkeys((step, start if step == "train" else "warm") for step in plan.steps for start in plan.starts)
    for step, start in steps if plan.model else ():
        yield Place(config.model, step=step, start=start, batch_size=config.batch_size)


def plan_profile(
    norms: Sequence[str],
    *,
    settings: Mapping[str, Any] | None = None,
    shapes: Sequence[Shape] | Mapping[Shape, int] = SHAPES,
    only: str = "both",
    rounds: int = 20,
    precision: float | None = None,
    seconds: float = 45.0,
    dtypes: Sequence[str] = ("float32",),
    memory_formats: Sequence[str] = (),
    calls: Sequence[str] = ("layer",),
    passes: Sequence[str] = ("both",),
    memory: bool = False,
    steps: Sequence[str] = ("train",),
    starts: Sequence[str] = ("warm",),
    activations: Activations | None = None,
) -> ProfilePlan:
    """Return a checked plan: the references `none` and `batchnorm`, then the norms, without duplicates.

    settings: the other settings of the configurations.  shapes: with counts, if they are those of a network.  only:
    layers, model or both.  dtypes, memory_formats, calls, passes: layers are measured in each combination, see
    `measure/cases.py`; the memory format defaults to that of the setting channels_last.  steps: of the model, see
    `steps.py`.  starts: of solvers in layers and model, see `measure/start.py`.  activations: inputs of the layers.
    """
    if only not in ("layers", "model", "both"):
        raise UsageError(f"--only {only} is not known", "give layers, model or both")
    names = dict.fromkeys([*REFERENCES, *map(NORMS.canonical, norms)])
    configs = [make_config({**(settings or {}), "norm": name}, USER) for name in names]
    for option, given, known in (
        ("--dtype", dtypes, DTYPES),
        ("--memory-format", memory_formats, MEMORY_FORMATS),
        ("--call", calls, CALLS),
        ("--pass", passes, PASSES),
        ("--step", steps, STEPS),
        ("--start", starts, STARTS),
    ):
        check_choices(option, given, known)
    check_device(pick_device(configs[0].device), dtypes, calls)
    amp, last = resolved_amp(configs[0]), configs[0].channels_last
    formats = memory_formats or ("channels_last" if last else "contiguous",)
    counts = shapes if isinstance(shapes, Mapping) else dict.fromkeys(shapes, 1)
    data = activations.label if activations else ""
    cases = {
        LayerCase(
            shape,
            dtype,
            memory_format if len(shape) == 4 else "contiguous",
            call,
            timed,
            amp,
            start if timed in SEARCHING else "warm",
            data,
        ): counts[shape]
        for dtype, memory_format, call, timed, start in product(dtypes, formats, calls, passes, starts)
        for shape in counts
    }
    return ProfilePlan(
        configs=tuple(map(resolved_for_layers if only == "layers" else resolved_for_steps, configs)),
        cases=cases if only != "model" else {},
        model=only != "layers",
        rounds=rounds,
        precision=precision,
        seconds=seconds,
        memory=memory,
        steps=tuple(steps),
        starts=tuple(starts),
        activations=activations,
    )


def check_device(device: torch.device, dtypes: Sequence[str], calls: Sequence[str]) -> None:
    """Raise an error for options that the device does not support."""
    if "float64" in dtypes and not has_float64(device):
        raise UsageError(f"--dtype float64: {device} has no float64", "give --dtype float32")
    if "reduce-overhead" in calls and not takes_flags(device):
        raise UsageError(f"--call reduce-overhead: {device} has no CUDA graphs", "give --call compiled")


def check_choices(option: str, given: Sequence[str], known: Mapping[str, Any] | Sequence[str]) -> None:
    for word in given:
        if word not in known:
            raise UsageError(f"{option} {word} is not known", suggest(word, list(known)))


def resolved_for_layers(config: RunConfig) -> ResolvedConfig:
    """Resolve a configuration without building its model, which the layers need not fit."""
    pick_device(config.device)
    return with_choices(config, amp=resolved_amp(config), compile=False, channels_last=bool(config.channels_last))


def resolved_for_steps(config: RunConfig) -> ResolvedConfig:
    return build.resolve(config, trial=None)
