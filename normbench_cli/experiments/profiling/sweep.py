"""`--sweep batch-size=8/16/32`: how the cost of norms grows with their input size, one profile per value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any

from normbench_cli.errors import UsageError
from normbench_cli.experiments.profiling.plan import ProfilePlan, plan_profile
from normbench_cli.experiments.profiling.results import Row
from normbench_cli.experiments.profiling.run import Show, peak_process, profile_contenders
from normbench_cli.experiments.profiling.sweep_values import Sweep
from normbench_cli.registry import MODELS
from normbench_cli.registry.spec import join_spec
from normbench_cli.store import Store

WIDTHS = ("width", "hidden")  # what models call the size of their layers
Shape = tuple[int, ...]
# shapes with counts; or a function of the settings that returns them, such as a preset whose batch is a setting
Shapes = Mapping[Shape, int] | Callable[[Mapping[str, Any]], Mapping[Shape, int]]


@dataclass(frozen=True)
class SweepPlan:
    """A plan for each value, in order.  model: its name in the settings."""

    sweep: Sweep
    plans: tuple[ProfilePlan, ...]
    model: str = ""

    @property
    def places(self) -> int:
        return sum(plan.places for plan in self.plans)


def plan_sweep(
    sweep: Sweep, norms: Sequence[str], *, settings: Mapping[str, Any], shapes: Shapes, only: str, **options: Any
) -> SweepPlan:
    """Return all plans, checked before anything is measured.  options: of `plan_profile`."""
    if sweep.name == "size" and only != "layers":
        raise UsageError("--sweep size is for layers, and models are asked for", "give --only layers")
    plans = [
        plan_profile(
            norms,
            settings=settings if only == "layers" else {**settings, **model_settings(sweep.name, value, settings)},
            shapes={} if only == "model" else shapes_at(sweep, value, shapes, settings),
            only=only,
            **options,
        )
        for value in sweep.values
    ]
    return SweepPlan(sweep, tuple(plans), str(settings.get("model") or plans[0].configs[0].model))


def model_settings(name: str, value: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings for a model with this batch size or width."""
    if name == "batch-size":
        return {"batch_size": value}
    model = str(settings.get("model") or "resnet20")
    spec = MODELS.parse(model)
    width = width_of(spec.entry.name)
    if width is None:
        able = [known for known in MODELS.choices() if width_of(known)]
        raise UsageError(
            f"--sweep width: {model} has no width that can be set", f"use {', '.join(able)}, or --only layers"
        )
    return {"model": join_spec(spec.entry.name, {**spec.params, width: value})}


def width_of(model: str) -> str | None:
    """The parameter that sets the width of a model, if it has one."""
    parameters = MODELS.parameters(MODELS.parse(model).entry)
    return next((name for name in WIDTHS if name in parameters), None)


def shapes_at(sweep: Sweep, value: int, shapes: Shapes, settings: Mapping[str, Any]) -> dict[Shape, int]:
    """The shapes with one dimension replaced; the counts of shapes that become equal are added."""
    if callable(shapes) and sweep.name == "batch-size":
        return dict(shapes({**settings, "batch_size": value}))
    found: Counter[Shape] = Counter()
    for shape, count in (shapes(settings) if callable(shapes) else shapes).items():
        found[sweep.reshape(shape, value)] += count
    return dict(found)


def run_sweep(plan: SweepPlan, store: Store, show: Show = lambda rows: None) -> dict[str, Any]:
    """Like `run_profile`.  The values share the time for further rounds; rows and totals name their value."""
    found: dict[str, Any] = {"environment": {}, "results": [], "totals": [], "lost": []}
    left = plan.plans[0].seconds
    with peak_process(plan.plans[0]) as peaks:
        for number, (value, each) in enumerate(zip(plan.sweep.values, plan.plans, strict=True)):
            started, share = monotonic(), left / (len(plan.plans) - number)
            mark = partial(marked, plan, value)
            _, own = profile_contenders(replace(each, seconds=share), store, partial(show_marked, show, mark), peaks)
            left -= min(monotonic() - started, share)
            found["environment"] = own["environment"]
            found["results"] += mark(own["results"])
            found["totals"] += mark(own["totals"])
            found["lost"] += own["lost"]
    return found


def show_marked(show: Show, mark: Callable[[Sequence[Row]], list[Row]], rows: list[Row]) -> None:
    show(mark(rows))


def marked(plan: SweepPlan, value: int, rows: Sequence[Row]) -> list[Row]:
    """Add columns.  sweep: what is swept.  at: its value.  series: the shape with a letter for it, or the model."""
    name = plan.sweep.name
    return [
        {**row, "sweep": name, "at": value, "series": plan.sweep.series(row.get("shape", "")) or plan.model}
        for row in rows
    ]
