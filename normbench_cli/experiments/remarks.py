"""Remarks on a run that is valid but perhaps not what was intended: shown while it trains, recorded with it, and
repeated by `runs show` and reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from normbench_cli import build
from normbench_cli.build import ResolvedConfig
from normbench_cli.config import RunConfig
from normbench_cli.experiments.events import Callback, Notice
from normbench_cli.experiments.norm_layers import NormLayer, compact, norm_layers
from normbench_cli.registry import NORMS
from normbench_cli.registry.spec import format_value
from normbench_cli.store import Store

FIRST_STEPS = 10


def record_norm_layers(run_id: str, config: ResolvedConfig, store: Store, on_event: Callback) -> None:
    """Record the parameters of every norm layer, and the remarks that can be made before training."""
    layers = norm_layers(build.meta_network(config), NORMS.parse_norm(config.norm))
    store.add_details(run_id, {"norm_layers": compact(layers)})
    for notice in chosen_groups(config, layers):
        on_event(Notice(notice))
    for remark in remarks_before(config):
        make_remark(run_id, remark, store, on_event)


def make_remark(run_id: str, remark: str, store: Store, on_event: Callback) -> None:
    """Show a remark and record it."""
    on_event(Notice(remark))
    store.add_remark(run_id, remark)


def chosen_groups(config: RunConfig, layers: Sequence[NormLayer]) -> Iterator[str]:
    """A remark on the numbers of groups that layers chose for their channels, if the spec does not set one."""
    norm = NORMS.parse_norm(config.norm).data_norm
    chosen = Counter(layer.parameters["groups"] for layer in layers if "groups" in layer.parameters)
    if norm is not None and "groups" not in norm.params and chosen:
        counts = ", ".join(f"{format_value(value)} in {count}" for value, count in sorted(chosen.items()))
        yield f"{norm} leaves the number of groups to its layers, which choose {counts} of {chosen.total()} layers"


def remarks_before(config: RunConfig) -> Iterator[str]:
    """Remarks that need no training: a norm meant to be combined with another one is used alone."""
    norm = NORMS.parse_norm(config.norm)
    for part in norm.weight_norms:
        if part.entry.facts.only_before_norms and not norm.normalizes_data:
            alias = (*part.entry.aliases, part.entry.name)[0]
            yield (
                f"{part.entry.name} is made for operations that a norm follows, and none does: the outputs grow with "
                f"the size of the filters; join it with a norm, as in {alias}+gn"
            )


def remark_on_divergence(config: RunConfig, step: int) -> str | None:
    """The remark on a run whose loss was not finite at a step; None if it had trained for a while with a data norm."""
    norm = NORMS.parse_norm(config.norm)
    if norm.weight_norms and not norm.normalizes_data:
        return (
            f"{config.norm} normalizes weights only, which does not bound the outputs, and diverged at step {step} "
            f"at a learning rate of {config.lr:g}; give a smaller --lr ({config.lr / 10:g}), or join it with a norm"
        )
    if step <= FIRST_STEPS:
        return (
            f"{config.norm} diverged at step {step} at a learning rate of {config.lr:g}, in its first {FIRST_STEPS} "
            f"steps; give a smaller --lr, such as {config.lr / 10:g}"
        )
    return None
