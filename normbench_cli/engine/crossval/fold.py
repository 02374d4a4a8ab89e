"""One fold of a cross-validation, and the plan by which all of them are trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from normbench_cli.engine.crossval.split import assign_folds
from normbench_cli.engine.crossval.statistics import CURVES
from normbench_cli.engine.protocols import FoldData
from normbench_cli.engine.step import Learner


@dataclass(frozen=True)
class FoldPlan:
    """How every fold is trained.  The learning rate changes once an epoch."""

    folds: int = 10
    epochs: int = 400
    batch_size: int = 128
    lr: float = 0.01
    seed: int = 9
    schedule: Callable[[float], float] = lambda progress: 1 - progress
    objective: Callable[[Tensor], Tensor] = torch.mean

    def steps_per_epoch(self, examples: int) -> int:
        """How many batches `train.shuffled_batches` makes of so many examples."""
        batches = -(-examples // self.batch_size)
        leftover = examples - (batches - 1) * self.batch_size
        return batches - 1 if batches > 1 and leftover == 1 else batches


@dataclass(kw_only=True)
class Fold(Learner):
    """One fold: what trains, on which examples, and what came of it.

    `sums` and `done` are written in place by the process that trains the fold and read by its parent.
    """

    number: int
    train: Tensor  # indices of the examples, on the CPU
    validation: Tensor
    sums: Tensor  # (epochs, 2 splits, 2): losses and correct answers, summed over the examples of the split
    done: Tensor = field(default_factory=lambda: torch.zeros(2, dtype=torch.int64))  # epochs, steps
    layer_metrics: dict[str, float] = field(default_factory=dict)  # of solvers and phi, once the fold is trained
    peak_memory: int = 0

    @property
    def epochs_done(self) -> int:
        return int(self.done[0])

    @property
    def steps(self) -> int:
        return int(self.done[1])

    def curves(self) -> dict[str, list[float]]:
        """Mean loss and accuracy by epoch, in eval mode.  In float32, as they are recorded, so that statistics over
        recorded folds equal those over folds that were just trained."""
        sizes = torch.tensor([len(self.train), len(self.validation)], dtype=torch.float64).view(1, 2, 1)
        means = (self.sums[: self.epochs_done].cpu().double() / sizes).float()
        return dict(zip(CURVES, means.flatten(1).T.tolist(), strict=True))


def make_folds(
    make_model: Callable[[], nn.Module],
    make_optimizer: Callable[[nn.Module], torch.optim.Optimizer],
    data: FoldData,
    plan: FoldPlan,
) -> list[Fold]:
    """All folds, untrained.  Initial weights are drawn for all of them in order after the seed is set once, so those of
    a fold do not depend on which folds are left to train."""
    assigned = assign_folds(data.labels.cpu(), plan.folds, plan.seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(plan.seed)
        models = [make_model().to(data.device) for _ in range(plan.folds)]
    return [
        Fold(
            model=model,
            objective=plan.objective,
            optimizer=make_optimizer(model),
            device=data.device,
            number=number,
            train=(assigned != number).nonzero()[:, 0],
            validation=(assigned == number).nonzero()[:, 0],
            sums=torch.zeros(plan.epochs, 2, 2, device=data.device),
        )
        for number, model in enumerate(models)
    ]
