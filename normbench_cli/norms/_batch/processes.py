"""Statistics over all processes in data-parallel training: what a layer needs from torch.distributed.

Each method is one collective of a few values per channel.  All processes must make the same calls in the same order.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable


class Processes:
    """The processes that each have a part of a batch, possibly an empty one.

    group: a torch.distributed group; None: all processes
    """

    def __init__(self, group: dist.ProcessGroup | None = None) -> None:
        self.group = group

    def __deepcopy__(self, memo: dict[int, Any]) -> Processes:
        return self  # a group belongs to the process, not to a layer

    @property
    def rank(self) -> int:
        return dist.get_rank(self.group)

    def add(self, values: Tensor) -> Tensor:
        """The sum of the tensors of all processes, without gradient."""
        total = values.detach().clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total, group=self.group)
        return total

    def gather(self, values: Tensor) -> Tensor:
        """The tensors of all processes, (processes, *shape), without gradient."""
        values = values.detach().contiguous()
        gathered = [torch.empty_like(values) for _ in range(dist.get_world_size(self.group))]
        dist.all_gather(gathered, values, group=self.group)
        return torch.stack(gathered)

    def sum(self, values: Tensor) -> Tensor:
        """The same as `add`, but differentiable: a value contributes to the sums of all processes, so its gradient is
        the sum of theirs."""
        total: Tensor = _Sum.apply(values, self)  # type: ignore[no-untyped-call]
        return total


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, processes: Processes) -> Tensor:
        ctx.processes = processes
        return processes.add(values)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.processes.add(grad), None


class SyncedStatistics:
    """Base of the layers that can compute their batch statistics over several processes."""

    processes: Processes | None = None  # None: this process alone

    def sync_over(self, group: dist.ProcessGroup | None = None) -> None:
        """Synchronize training statistics over the processes of a group from now on; None: over all."""
        self.processes = Processes(group)
