"""`--from-run RUN`: the inputs of a trained network's norms, to time contenders on them.

The network of the run's checkpoint is run on two batches of the run's training data in training mode.  The inputs from
the second are timed; those from the first, the batch before, give solvers their warm start.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from normbench_cli.config import RunConfig
from normbench_cli.device import autocast
from normbench_cli.engine.protocols import Batch, Batches
from normbench_cli.engine.training import Training
from normbench_cli.errors import UsageError
from normbench_cli.experiments.norm_layers import data_norm_layers
from normbench_cli.experiments.recorded import Packages
from normbench_cli.experiments.trained import load_trained
from normbench_cli.measure.norm_inputs import Seen, norm_inputs
from normbench_cli.registry import NORMS
from normbench_cli.registry.spec import suggest
from normbench_cli.store import Store

Shape = tuple[int, ...]
OF_THE_RUN = ("model", "data", "act", "batch_size")  # settings that a profile copies from the run
USUAL = ("amp", "channels_last")  # the same, unless overridden


class Values(NamedTuple):
    """The input of a layer, in the batch and in the one before."""

    layer: str
    x: Tensor
    before: Tensor


@dataclass(frozen=True)
class Activations:
    """batch: its number, from 1, counted from the first epoch of training.  counts: how often the norms of the network
    are called with each shape.  values: of one layer per shape.  settings: those of the run."""

    run: str
    batch: int
    counts: Mapping[Shape, int]
    values: Mapping[Shape, Values]
    settings: Mapping[str, Any]

    @property
    def label(self) -> str:
        """Part of the names of metrics: from-d322c4f1-1."""
        return f"from-{self.run}-{self.batch}"

    @property
    def identity(self) -> list[Any]:
        """The key by which profiles on the same values are recognized."""
        return [self.run, self.batch, [values.layer for values in self.values.values()]]

    def source(self, shape: Shape) -> dict[str, Any]:
        """The run, batch and layer that the values of a shape come from."""
        return {"run": self.run, "batch": self.batch, "layer": self.values[shape].layer}


def record_activations(
    text: str,
    store: Store,
    *,
    device: str = "auto",
    layer: str = "",
    allow: Packages = (),
    force: bool = False,
) -> Activations:
    """text: the run, or RUN@BATCH.  layer: used for its shape; by default the first layer of each shape is.

    allow, force: as in `evaluate`.
    """
    name, batch = parse_run(text)
    run_id = store.find(name).id
    config, training = load_trained(run_id, store, device, allow, force=force)
    found = [each.name for each in data_norm_layers(training.model, NORMS.parse_norm(config.norm))]
    if not found:
        raise UsageError(f"run {run_id} has norm '{config.norm}', and no layers of it", "name a run with such layers")
    if layer and layer not in found:
        raise UsageError(f"--layer {layer}: run {run_id} has no such norm layer", suggest(layer, found))
    counts, values = observed(training, found, batch, layer)
    return Activations(run_id, batch, counts, values, settings_of(config))


def parse_run(text: str) -> tuple[str, int]:
    """Parse RUN@BATCH; the first batch is the default."""
    name, at, number = text.partition("@")
    if at and not (number.isascii() and number.isdigit() and int(number)):
        raise UsageError(f"--from-run {text}: '{number}' is not a batch", "number batches from 1: d322c4f1@5")
    return name, int(number or 1)


def settings_of(config: RunConfig) -> dict[str, Any]:
    return {name: getattr(config, name) for name in (*OF_THE_RUN, *USUAL)}


def observed(
    training: Training, layers: list[str], number: int, preferred: str
) -> tuple[dict[Shape, int], dict[Shape, Values]]:
    """The shapes with counts, and the values of one layer per shape."""
    model = training.model.train()

    def seen_in(index: int, names: Iterable[str]) -> Seen:
        batch = batch_at(training.train, index)
        modules = {name: model.get_submodule(name) for name in names}
        with torch.no_grad(), autocast(training.device, training.amp):
            return norm_inputs(modules, lambda: model(batch.inputs), preferred)

    now = seen_in(number - 1, layers)
    values = {}
    for shape, name in now.first.items():
        before = next(iter(seen_in(number - 2, [name]).values.values()))
        values[shape] = Values(name, now.values[shape], before)
    return dict(now.counts), values


def batch_at(train: Batches, index: int) -> Batch:
    """The batch with this index, counted from the start of epoch 1; -1 is the last batch of epoch 0."""
    epoch, first = divmod(index, len(train))
    return next(iter(train.epoch(epoch + 1, first)))
