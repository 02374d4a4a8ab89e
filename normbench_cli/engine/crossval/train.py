"""Training of one fold: a model learns from the other folds' graphs and is scored on all of them after each epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.device import peak_memory_bytes
from normbench_cli.engine.events import Diverged
from normbench_cli.measure.solver import phi_metrics, solver_metrics
from normbench_cli.seeds import derive

PIECE = 4096  # nodes scored at once: what they need stays in a processor's cache


class Sliceable(Protocol):
    """What training needs of data: samples that lie on the device, and batches of chosen ones with their labels."""

    device: torch.device
    labels: Tensor

    def __len__(self) -> int: ...

    def batch(self, chosen: Tensor) -> tuple[Any, Tensor]: ...

    def chunks(self, max_nodes: int) -> list[tuple[Any, Tensor]]: ...


@dataclass(frozen=True)
class Plan:
    """How every fold is trained.  The learning rate changes once an epoch, by the share done."""

    folds: int = 10
    epochs: int = 400
    batch_size: int = 128
    lr: float = 0.01
    seed: int = 9
    schedule: Callable[[float], float] = lambda progress: 1 - progress
    objective: Callable[[Tensor], Tensor] = torch.mean


@dataclass
class Fold:
    """One fold in training."""

    number: int
    model: nn.Module
    optimizer: torch.optim.Optimizer
    train: Tensor  # numbers of the samples, on the CPU
    validation: Tensor
    sums: Tensor  # (epochs, 2 splits, 2): loss and right answers, summed over the split's samples
    count: Tensor = field(default_factory=lambda: torch.zeros(2, dtype=torch.int64))  # epochs and steps done
    solver: dict[str, float] = field(default_factory=dict)  # what its solvers did, once it is trained
    peak_memory: int = 0

    @property
    def epochs_done(self) -> int:
        return int(self.count[0])

    @property
    def steps(self) -> int:
        return int(self.count[1])

    def curves(self) -> dict[str, list[float]]:
        """Mean loss and accuracy by epoch, in eval mode; no finer than they are recorded, so that statistics over
        recorded folds are those over folds just trained."""
        sizes = torch.tensor([len(self.train), len(self.validation)], dtype=torch.float64).view(1, 2, 1)
        means = (self.sums[: self.epochs_done].cpu().double() / sizes).float()
        return {
            f"{split}/{name}": means[:, i, j].tolist()
            for i, split in enumerate(("train", "validation"))
            for j, name in enumerate(("loss", "accuracy"))
        }


def train_fold(
    fold: Fold, data: Sliceable, pieces: Sequence[tuple[Any, Tensor]], plan: Plan, go_on: Callable[[], bool]
) -> None:
    """Train to the end, or until `go_on` says no.  Raises `Diverged` when a loss is not a finite number."""
    order = torch.Generator().manual_seed(derive(plan.seed, "fold", fold.number))
    dropout = torch.Generator(data.device).manual_seed(derive(plan.seed, "fold_dropout", fold.number))
    give_generator(fold.model, dropout)
    member = torch.zeros(2, len(data), device=data.device)
    member[0, fold.train], member[1, fold.validation] = 1, 1
    labels = torch.cat([labels for _, labels in pieces])
    watched = data.device.type == "cpu"  # where looking at a value costs nothing
    for epoch in range(plan.epochs):
        if not go_on():
            return
        for group in fold.optimizer.param_groups:
            group["lr"] = plan.lr * plan.schedule(epoch / plan.epochs) * group.get("rate_factor", 1.0)
        fold.model.train()
        for chosen in batches(fold.train, plan.batch_size, order):
            batch, wanted = data.batch(chosen)
            fold.optimizer.zero_grad(set_to_none=True)
            plan.objective(F.cross_entropy(fold.model(batch), wanted, reduction="none")).backward()
            fold.optimizer.step()
            fold.count[1] += 1
        fold.sums[epoch] = score(fold.model, pieces, labels, member)
        fold.count[0] = epoch + 1
        if (watched or epoch + 1 == plan.epochs) and not math.isfinite(float(fold.sums[epoch].sum())):
            raise Diverged(fold.steps)
    fold.solver = solver_metrics(fold.model) | phi_metrics(fold.model)
    fold.peak_memory = peak_memory_bytes(data.device)


def batches(numbers: Tensor, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """The samples in a new order, in parts.  A single one left over joins the part before it: a batch of one sample
    may be too little for a norm's statistics."""
    parts = list(numbers[torch.randperm(len(numbers), generator=generator)].split(size))
    if len(parts) > 1 and len(parts[-1]) == 1:
        parts[-2:] = [torch.cat(parts[-2:])]
    yield from parts


@torch.inference_mode()
def score(model: nn.Module, pieces: Sequence[tuple[Any, Tensor]], labels: Tensor, member: Tensor) -> Tensor:
    """Loss and right answers of all samples in one pass, summed over each split."""
    model.eval()
    scores = torch.cat([model(batch) for batch, _ in pieces]).float()
    losses = F.cross_entropy(scores, labels, reduction="none")
    right = (scores.argmax(1) == labels).to(losses.dtype)
    return member @ torch.stack([losses, right], 1)


def give_generator(model: nn.Module, generator: torch.Generator) -> None:
    """Dropout draws from here, not from what all trainings share."""
    for module in model.modules():
        if hasattr(module, "generator"):
            module.generator = generator  # type: ignore[assignment]
