"""The requested plot: its kind, and what it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import split_spec, suggest

OPTIONS = {  # kind -> the options it takes
    "curve": ("by",),
    "pareto": ("cost",),
    "strength": ("by",),
    "ratios": ("reference",),
    "critical_difference": ("across",),
    "trend": (),
    "bars": ("part",),
    "convergence": (),
}
AXES_OF_CURVES = ("epoch", "step", "seconds")


@dataclass(frozen=True)
class PlotQuery:
    """A kind of plot with options and the metrics it shows, by default the usual ones for it.

    The options, as in ``curve:by=seconds`` or ``pareto:cost=saved_activation_bytes``:
    by, of a curve: epoch, step or seconds; of a strength: batch_size or another numeric setting, by default the
    strength of the condition in the metric's name.  cost: a metric.  reference: a norm.  across: the setting whose
    values are the data sets of a ranking.  part: a setting whose values get separate bars.
    """

    kind: str
    options: Mapping[str, str] = field(default_factory=dict)
    metrics: Sequence[str] = ()


def parse_plot(text: str, metrics: Sequence[str] = ()) -> PlotQuery:
    """``curve:by=step`` -> its kind and options, checked."""
    kind, options = split_spec(text)
    if kind not in OPTIONS:  # the other kinds are drawn by the commands that measure them
        raise UsageError(f"--plot {kind} is not a kind of plot", suggest(kind, list(OPTIONS)))
    for name in options:
        if name not in OPTIONS[kind]:
            do = f"it takes {' and '.join(OPTIONS[kind])}" if OPTIONS[kind] else "it takes none"
            raise UsageError(f"--plot {kind} has no option '{name}'", do)
    if kind == "curve" and options.get("by", "epoch") not in AXES_OF_CURVES:
        raise UsageError(f"--plot {text}: by is epoch, step or seconds", suggest(options["by"], list(AXES_OF_CURVES)))
    return PlotQuery(kind, options, metrics)
