"""Profiling: the time and memory of norms against each other, recorded and returned as rows.

The implementation is in `profiling/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from normbench_cli.experiments.profiling.activations import record_activations
from normbench_cli.experiments.profiling.plan import ProfilePlan, plan_profile
from normbench_cli.experiments.profiling.presets import preset_shapes
from normbench_cli.experiments.profiling.run import profile_contenders, run_profile
from normbench_cli.experiments.profiling.shapes import SHAPES
from normbench_cli.experiments.profiling.shapes_of import shapes_of
from normbench_cli.experiments.profiling.sweep import SweepPlan, plan_sweep, run_sweep
from normbench_cli.experiments.profiling.sweep_values import parse_sweep
from normbench_cli.experiments.recorded import Packages
from normbench_cli.registry.spec import split_list
from normbench_cli.store import Store

if TYPE_CHECKING:
    import pandas as pd

Shape = tuple[int, ...]
__all__ = [
    "SHAPES",
    "ProfilePlan",
    "SweepPlan",
    "parse_sweep",
    "plan_profile",
    "plan_sweep",
    "preset_shapes",
    "profile",
    "profile_contenders",
    "record_activations",
    "run_profile",
    "run_sweep",
    "shapes_of",
]


def profile(
    norms: str | Iterable[str] = "popnorm",
    shapes: Iterable[tuple[int, ...]] | Mapping[tuple[int, ...], int] | str | None = None,
    *,
    only: str | None = None,
    rounds: int = 20,
    precision: float | None = None,
    seconds: float = 45.0,
    dtypes: Iterable[str] = ("float32",),
    memory_formats: Iterable[str] = (),
    calls: Iterable[str] = ("layer",),
    passes: Iterable[str] = ("both",),
    memory: bool = True,
    steps: Iterable[str] = ("train",),
    starts: Iterable[str] = ("warm",),
    sweep: str = "",
    from_run: str = "",
    layer: str = "",
    allow: Packages = (),
    force: bool = False,
    db: str | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """Measure time and memory of norms against `none` and `batchnorm`: a row per contender, reference and metric.

    shapes: of a layer's input, (N, C, ...), with counts if it is a dictionary, or the name of a preset such as
    "resnet18-cifar".  only: "layers", "model" (whole steps) or "both"; by default "both", or "layers" if shapes are
    given.  from_run: a run whose norm inputs are fed to the layers; layer, allow and force are as on the command line.
    sweep: "batch-size=8/16/32", for layers unless `only` says otherwise.  The others are the options of `normbench
    profile`: without a precision, exactly `rounds` rounds are run.  The frame's ``attrs["environment"]`` has the facts
    about code and machine, ``attrs["totals"]`` the total cost of a network's norms.

    >>> nb.profile(norms=["popnorm", "augnorm:phi=1.5"], shapes=[(128, 64, 32, 32)])
    """
    import pandas as pd

    options: dict[str, Any] = {
        "rounds": rounds,
        "precision": precision,
        "seconds": seconds,
        "dtypes": tuple(dtypes),
        "memory_formats": tuple(memory_formats),
        "calls": tuple(calls),
        "passes": tuple(passes),
        "memory": memory,
        "steps": tuple(steps),
        "starts": tuple(starts),
    }
    specs = [spec for text in ([norms] if isinstance(norms, str) else norms) for spec in split_list(text)]
    with Store.open(db) as store:
        if from_run:
            device = settings.get("device", "auto")
            recorded = record_activations(from_run, store, device=device, layer=layer, allow=allow, force=force)
            options["activations"] = recorded
            shapes, only, settings = recorded.counts, "layers", {**recorded.settings, **settings}
        found = run_any(plan_any(specs, shapes, only, sweep, settings, options), store)
    frame = pd.DataFrame(found["results"])
    frame.attrs.update(environment=found["environment"], totals=found["totals"])
    return frame


def plan_any(
    norms: list[str],
    shapes: Iterable[Shape] | Mapping[Shape, int] | str | None,
    only: str | None,
    sweep: str,
    settings: Mapping[str, Any],
    options: Mapping[str, Any],
) -> ProfilePlan | SweepPlan:
    """The plan for the arguments of `profile`."""
    given: Any = SHAPES if shapes is None else shapes

    def counts(settings: Mapping[str, Any]) -> Mapping[Shape, int]:
        if isinstance(given, str):
            return preset_shapes(given, settings.get("batch_size"))
        return given if isinstance(given, Mapping) else dict.fromkeys(given, 1)

    if sweep:
        swept = counts if isinstance(given, str) else counts(settings)
        return plan_sweep(parse_sweep(sweep), norms, settings=settings, shapes=swept, only=only or "layers", **options)
    only = only or ("both" if shapes is None else "layers")
    return plan_profile(norms, settings=settings, shapes=counts(settings), only=only, **options)


def run_any(plan: ProfilePlan | SweepPlan, store: Store) -> dict[str, Any]:
    return run_profile(plan, store) if isinstance(plan, ProfilePlan) else run_sweep(plan, store)
