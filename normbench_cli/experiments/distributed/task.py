"""What rank 0 sends to the other ranks, and how they follow it: by taking the same steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from normbench_cli import build, paths
from normbench_cli.build import ResolvedConfig
from normbench_cli.device import device_of_process
from normbench_cli.engine.data_parallel import DataParallel
from normbench_cli.engine.events import Diverged
from normbench_cli.engine.loop import fit
from normbench_cli.engine.training import Training


@dataclass(frozen=True)
class Task:
    """A configuration to train.  state: of the checkpoint that it continues from."""

    config: ResolvedConfig
    state: dict[str, Any] | None


def send(task: Task | None) -> None:
    """Send a task to all other ranks; None means that no more will come."""
    dist.broadcast_object_list([task], src=0, device=torch.device("cpu"))


def receive() -> Task | None:
    received: list[Task | None] = [None]
    dist.broadcast_object_list(received, src=0, device=torch.device("cpu"))
    return received[0]


def follow(local_rank: int) -> None:
    """Train in step with rank 0, task by task, until there are no more."""
    paths.set_compile_cache()
    while (task := receive()) is not None:
        with build.flags_of(task.config):
            try:
                for _ in fit(make_part(task, local_rank)):
                    pass
            except Diverged:  # rank 0 diverges as well, and records it
                pass


def make_part(task: Task, local_rank: int) -> Training:
    """The `Training` of this rank."""
    config = task.config
    parallel = DataParallel(dist.get_rank(), config.nproc, config.sync_norm, config.seed)
    training = build.make_training(config, device=device_of_process(config.device, local_rank), parallel=parallel)
    if task.state is not None:
        training.load_state_dict(task.state)
    return training
