"""One fold of a cross-validation, and the plan for training all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor, nn

from normbench_cli.engine.crossval.split import FoldSplits, HoldOut, assign_folds, fold_splits
from normbench_cli.engine.crossval.statistics import CURVES, curves_of
from normbench_cli.engine.protocols import FoldData
from normbench_cli.engine.step import Learner

NO_GRAPHS = torch.empty(0, dtype=torch.int64)


@dataclass(frozen=True)
class FoldPlan:
    """How every fold is trained.  The learning rate changes once per epoch.

    fold: the only fold to train; None for all.  split_seed: seed of the folds; None: `seed`.
    hold_out, score_test: see `split.fold_splits`.
    """

    folds: int = 10
    epochs: int = 400
    batch_size: int = 128
    lr: float = 0.01
    seed: int = 9
    schedule: Callable[[float], float] = lambda progress: 1 - progress
    objective: Callable[[Tensor], Tensor] = torch.mean
    fold: int | None = None
    split_seed: int | None = None
    hold_out: HoldOut | None = None
    score_test: Literal["epoch", "end", "never"] = "epoch"

    @property
    def scores_all(self) -> bool:
        """Whether every graph is scored after every epoch, as the papers do."""
        return self.hold_out is None and self.score_test == "epoch"

    @property
    def curves(self) -> tuple[str, ...]:
        """Names of the per-epoch metrics."""
        return CURVES if self.hold_out is not None or self.scores_all else curves_of("train")

    def splits(self, labels: Tensor) -> list[FoldSplits]:
        """The graphs of each fold."""
        split_seed = self.seed if self.split_seed is None else self.split_seed
        assigned = assign_folds(labels, self.folds, split_seed)
        return [
            fold_splits(assigned, number, labels, self.hold_out, self.score_test, split_seed)
            for number in range(self.folds)
        ]

    def steps_per_epoch(self, examples: int) -> int:
        """How many batches `train.shuffled_batches` makes of `examples` indices."""
        batches = -(-examples // self.batch_size)
        leftover = examples - (batches - 1) * self.batch_size
        return batches - 1 if batches > 1 and leftover == 1 else batches


@dataclass(kw_only=True)
class Fold(Learner):
    """One fold: its learner, its examples and its results.

    `sums` and `done` are written in place by the process that trains the fold and read by its parent.
    """

    number: int
    train: Tensor  # indices of the examples, on the CPU
    validation: Tensor  # may be empty
    sums: Tensor  # (epochs, scored splits, 2): losses and correct predictions, summed over the split's examples
    test: Tensor = field(default_factory=NO_GRAPHS.clone)  # scored once, at the end
    done: Tensor = field(default_factory=lambda: torch.zeros(2, dtype=torch.int64))  # epochs, steps
    layer_metrics: dict[str, float] = field(default_factory=dict)  # of solvers, phi and the test, after training
    peak_memory: int = 0

    @property
    def scored(self) -> list[Tensor]:
        """The splits that are scored after every epoch."""
        return [self.train, self.validation] if len(self.validation) else [self.train]

    @property
    def epochs_done(self) -> int:
        return int(self.done[0])

    @property
    def steps(self) -> int:
        return int(self.done[1])

    def curves(self) -> dict[str, list[float]]:
        """Mean loss and accuracy per epoch, in eval mode.  Rounded to float32, as when recorded, so that statistics
        over recorded folds equal those over folds that were just trained."""
        sizes = torch.tensor([len(split) for split in self.scored], dtype=torch.float64).view(1, -1, 1)
        means = (self.sums[: self.epochs_done].cpu().double() / sizes).float()
        return dict(zip(CURVES, means.flatten(1).T.tolist(), strict=False))  # validation comes last


def make_folds(
    make_model: Callable[[], nn.Module],
    make_optimizer: Callable[[nn.Module], torch.optim.Optimizer],
    data: FoldData,
    plan: FoldPlan,
) -> list[Fold]:
    """Make all folds, untrained.  The seed is set once and initial weights are drawn for all folds in order, so a
    fold's weights do not depend on which folds are left to train."""
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
            train=splits.train,
            validation=splits.validation,
            test=splits.test,
            sums=torch.zeros(plan.epochs, 2 if len(splits.validation) else 1, 2, device=data.device),
        )
        for number, (model, splits) in enumerate(zip(models, plan.splits(data.labels.cpu()), strict=True))
    ]
