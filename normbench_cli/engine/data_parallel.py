"""Data-parallel training: every process takes its part of every batch, and all take the same steps.

A step is equivalent to one on the whole batch.  The losses of all parts are gathered before the objective is applied,
so that it may be any function of a batch, and parts may differ in size.  DistributedDataParallel averages gradients;
the objective is multiplied by the number of processes to turn the average into a sum.  All processes know all losses,
so their meters agree; only rank 0 scores, records and saves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from normbench_cli.engine.protocols import Batch, Batches, Inputs, ReadsFiles

LEAST_ALONE = 2  # examples in a part whose norms use its own statistics


class Part(NamedTuple):
    """This process's examples of a batch: from `start` to `stop`, of `whole`."""

    start: int
    stop: int
    whole: int


class PartOfBatch(NamedTuple):
    """A `Batch` that is a part of a larger one."""

    inputs: Inputs
    labels: Tensor
    groups: Tensor | None
    part: Part


@dataclass(frozen=True)
class DataParallel:
    """This process's place in a data-parallel group.

    synced: norms compute their statistics over all processes; otherwise each over its own part, which then has at least
    two examples.  seed: of the run.
    """

    rank: int
    size: int
    synced: bool
    seed: int

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def part_of(self, whole: int) -> Part:
        """This process's part of a batch.  Parts are consecutive and differ by at most one example; if there are too
        few examples, some processes get none."""
        least = 1 if self.synced else LEAST_ALONE
        sharing = max(min(self.size, whole // least), 1)
        size, larger = divmod(whole, sharing)
        start = min(self.rank * size + min(self.rank, larger), whole)
        stop = start + size + (self.rank < larger) if self.rank < sharing else start
        return Part(start, stop, whole)

    def gather(self, values: Tensor, part: Part) -> Tensor:
        """All-gather values (rows, own examples) to (rows, all examples), without gradient."""
        everywhere = values.new_zeros(len(values), part.whole)
        everywhere[:, part.start : part.stop] = values[:, : part.stop - part.start].detach()
        dist.all_reduce(everywhere)
        return everywhere

    def begin_step(self, step: int) -> None:
        """Seed random numbers such as dropout's, which differ between processes.  On all ranks but 0 they depend on the
        step only, so that a checkpoint needs the generator state of rank 0 alone."""
        if not self.is_first:
            digest = hashlib.sha256(f"{self.seed} {self.rank} {step}".encode()).digest()
            torch.manual_seed(int.from_bytes(digest[:7], "big"))


class DDPModel:
    """Calls a model through DistributedDataParallel for training, and directly for everything else, which a process may
    do alone."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        # before each step it broadcasts the buffers of rank 0, such as running statistics
        self._parallel = DistributedDataParallel(model)

    def __call__(self, inputs: Inputs) -> Tensor:
        learns = self.model.training and torch.is_grad_enabled()
        outputs: Tensor = (self._parallel if learns else self.model)(inputs)
        return outputs


class Parts:
    """This process's parts of a split's batches.

    A process that gets no examples of a batch has an empty part if statistics are synced.  Otherwise it repeats the
    first examples of the batch, because norms need some for their statistics, and its losses do not count.
    """

    def __init__(self, batches: Batches, parallel: DataParallel) -> None:
        self._batches = batches
        self._parallel = parallel

    def __len__(self) -> int:
        return len(self._batches)

    def epoch(self, number: int = 0, first: int = 0) -> Iterator[Batch]:
        """Yield the parts of an epoch's batches, from index `first` on."""
        for batch in self._batches.epoch(number, first):
            yield self._of(batch)

    def _of(self, batch: Batch) -> PartOfBatch:
        part = self._parallel.part_of(len(batch.labels))
        taken = slice(part.start, part.stop)
        if part.start == part.stop and not self._parallel.synced:
            taken = slice(0, LEAST_ALONE)
        groups = None if batch.groups is None else batch.groups[taken]
        return PartOfBatch(batch.inputs[taken], batch.labels[taken], groups, part)


class PartsOfFiles(Parts):
    """`Parts` of batches that are read from files."""

    @property
    def damaged(self) -> Mapping[str, str]:
        assert isinstance(self._batches, ReadsFiles)
        return self._batches.damaged


def parts_of(batches: Batches, parallel: DataParallel) -> Batches:
    return (PartsOfFiles if isinstance(batches, ReadsFiles) else Parts)(batches, parallel)
