"""Training of one fold: the model learns from the other folds' graphs and is scored on all graphs after each epoch.

The step, the learning rate and the scoring pass are those of the main loop (`engine/step.py`, `engine/evaluate.py`).
Three things differ on purpose: the learning rate changes once per epoch, batches are assembled from graphs on the
device, and the loss of a split is one sum over all its examples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.device import peak_memory_bytes
from normbench_cli.engine.crossval.fold import Fold, FoldPlan
from normbench_cli.engine.evaluate import correct, evaluate
from normbench_cli.engine.events import Diverged
from normbench_cli.engine.protocols import Batch, FoldData, Inputs
from normbench_cli.engine.step import set_learning_rate, train_step
from normbench_cli.measure.solver import phi_metrics, solver_metrics
from normbench_cli.norms.protocols import has_generator
from normbench_cli.seeds import derive

SCORING_NODES = 4096  # per scored batch: its data stay in the processor's cache
SCORING_GRAPHS = 128  # per scored batch where only some graphs are scored


class ScoringBatch(NamedTuple):
    """A batch of the graphs that are scored after each epoch."""

    inputs: Inputs
    labels: Tensor
    groups: None = None


def scoring_batches(data: FoldData) -> list[ScoringBatch]:
    """Batches of all graphs in order.  Made once for all folds and epochs."""
    return [ScoringBatch(inputs, labels) for inputs, labels in data.chunks(SCORING_NODES)]


def batches_of(data: FoldData, chosen: Tensor) -> list[ScoringBatch]:
    """Batches of the chosen graphs in order; no other graph is read."""
    return [ScoringBatch(*data.batch(part)) for part in chosen.split(SCORING_GRAPHS)]


def train_fold(
    fold: Fold,
    data: FoldData,
    scoring: Sequence[ScoringBatch],
    plan: FoldPlan,
    should_continue: Callable[[], bool] = lambda: True,
) -> None:
    """Train to the end, or until `should_continue` returns False.  Raises `Diverged` if a loss is not finite.

    scoring: all graphs, in batches; a fold that scores only some of them makes its own batches.
    """
    order = torch.Generator().manual_seed(derive(plan.seed, "fold", fold.number))
    dropout = torch.Generator(data.device).manual_seed(derive(plan.seed, "fold_dropout", fold.number))
    set_generator(fold.model, dropout)
    scored = torch.cat(fold.scored).sort().values
    if not plan.scores_all:
        scoring = batches_of(data, scored)
    meter = FoldMeter(fold.scored, scored, scoring)
    read_is_free = data.device.type == "cpu"  # on other devices reading a value synchronizes
    for epoch in range(plan.epochs):
        if not should_continue():
            return
        set_learning_rate(fold.optimizer, plan.lr, plan.schedule, progress=epoch / plan.epochs)
        fold.model.train()
        for chosen in shuffled_batches(fold.train, plan.batch_size, order):
            train_step(fold, *data.batch(chosen))
            fold.done[1] += 1
        evaluate(fold, scoring, [(None, meter)])
        fold.sums[epoch] = meter.finish()
        fold.done[0] = epoch + 1
        if (read_is_free or epoch + 1 == plan.epochs) and not math.isfinite(float(fold.sums[epoch].sum())):
            raise Diverged(fold.steps)
    fold.layer_metrics = solver_metrics(fold.model) | phi_metrics(fold.model) | tested(fold, data)
    fold.peak_memory = peak_memory_bytes(data.device)


def tested(fold: Fold, data: FoldData) -> dict[str, float]:
    """Scores of the fold's test graphs, which are read here and nowhere else; empty if there are none."""
    if not len(fold.test):
        return {}
    scoring = batches_of(data, fold.test)
    meter = FoldMeter([fold.test], fold.test, scoring)
    evaluate(fold, scoring, [(None, meter)])
    loss, accuracy = (meter.finish().cpu().double() / len(fold.test)).flatten().tolist()
    if not math.isfinite(loss):
        raise Diverged(fold.steps)
    return {"test/loss": loss, "test/accuracy": accuracy}


def shuffled_batches(indices: Tensor, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Yield the indices in random order, in batches.  A single leftover index joins the previous batch: a norm may have
    no statistics for a batch of one example."""
    parts = list(indices[torch.randperm(len(indices), generator=generator)].split(size))
    if len(parts) > 1 and len(parts[-1]) == 1:
        parts[-2:] = [torch.cat(parts[-2:])]
    yield from parts


class FoldMeter:
    """Sums losses and correct predictions over splits by one matrix product.

    `ScoreMeter` of the main loop sums batch by batch and so rounds differently.  Folds must match recorded ones bit for
    bit, and one product over all examples is faster than two sums per small batch.  So only the pass over the model
    (`evaluate`) and the definition of correct are shared with it.
    """

    def __init__(self, splits: Sequence[Tensor], scored: Tensor, scoring: Sequence[ScoringBatch]) -> None:
        """splits: indices of the examples of each.  scored: indices of all batches, in order."""
        self._labels = torch.cat([batch.labels for batch in scoring])
        self._members = torch.zeros(len(splits), len(scored), device=self._labels.device)
        for row, split in zip(self._members, splits, strict=True):
            row[torch.searchsorted(scored, split)] = 1  # where the split has the example
        self._outputs: list[Tensor] = []

    def add(self, outputs: Tensor, batch: Batch) -> None:
        self._outputs.append(outputs)

    def finish(self) -> Tensor:
        """Return (splits, 2): the sum of losses and the number of correct predictions; and reset."""
        outputs = torch.cat(self._outputs)
        self._outputs = []
        losses = F.cross_entropy(outputs, self._labels, reduction="none")
        answers = correct(outputs, self._labels).to(losses.dtype)
        return self._members @ torch.stack([losses, answers], 1)


def set_generator(model: nn.Module, generator: torch.Generator) -> None:
    """Make dropout draw from this generator instead of torch's global one, which all folds in a process share."""
    for module in model.modules():
        if has_generator(module):
            module.generator = generator
