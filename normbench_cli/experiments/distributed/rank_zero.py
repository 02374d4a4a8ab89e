"""Rank 0: the first of several processes that train together."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist

from normbench_cli.build import ResolvedConfig
from normbench_cli.device import is_lost_connection, leave, process_group, rendezvous_store, usable_cores
from normbench_cli.engine.training import Training
from normbench_cli.errors import NormbenchError
from normbench_cli.experiments.distributed.rank import Rank, launched_rank
from normbench_cli.experiments.distributed.task import Task, follow, make_part, send
from normbench_cli.experiments.distributed.workers import Workers
from normbench_cli.interrupts import Interrupted, ignored

SECONDS_TO_SHOW = 5.0  # wait this long for a process whose connection was lost to end
SECONDS_TO_LEAVE = 20.0  # wait this long for the other processes to end after the last task


class LostProcess(NormbenchError):
    """One of the processes that train together has ended."""


@contextmanager
def as_rank_zero(config: ResolvedConfig, state: dict[str, Any] | None = None) -> Iterator[Training]:
    """Yield the `Training` of rank 0, while the other ranks take the same steps: processes that torchrun or SLURM
    started, otherwise workers on this machine.

    state: of a checkpoint to continue from.  Raises `LostProcess` if a process is lost.
    """
    if launched_rank(config.nproc) is not None:
        with among_launched(config, state) as training:
            yield training
        return
    store = rendezvous_store()
    workers, wait_seconds = Workers(config.nproc, store.port, torch.get_num_threads()), 0.0
    try:
        with process_group(0, config.nproc, store):
            yield start_training(config, state)
            send(None)
        wait_seconds = SECONDS_TO_LEAVE
    except (RuntimeError, KeyboardInterrupt) as error:
        by_connection = is_lost_connection(error)
        how = workers.lost(SECONDS_TO_SHOW if by_connection else 0.0)
        if how and (by_connection or isinstance(error, KeyboardInterrupt)):
            raise loss_error(how) from error
        raise
    finally:
        workers.stop(after=wait_seconds)


@contextmanager
def among_launched(config: ResolvedConfig, state: dict[str, Any] | None) -> Iterator[Training]:
    """Yield the `Training` of rank 0 among processes started by torchrun or SLURM.  An error here ends all of them."""
    if not dist.is_initialized():
        raise Interrupted("the other processes have ended, or this command does not join them; `train` does")
    try:
        yield start_training(config, state)
    except BaseException as error:
        with ignored():  # when a process is lost, torchrun interrupts the others
            leave()
        if is_lost_connection(error):
            raise loss_error("another process has ended") from error
        raise


def start_training(config: ResolvedConfig, state: dict[str, Any] | None) -> Training:
    send(task := Task(config, state))
    return make_part(task, local_rank=0)


def loss_error(how: str) -> LostProcess:
    return LostProcess(f"{how}, and the training needs all of its processes", "continue it with --resume")


@contextmanager
def sharing_cores(processes: int) -> Iterator[None]:
    """Limit this process to its share of the cores in this block, unless OMP_NUM_THREADS sets its threads."""
    before = torch.get_num_threads()
    if processes > 1 and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, usable_cores() // processes))
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def joined(rank: Rank | None) -> Iterator[bool]:
    """Join the processes that torchrun or SLURM started.  Yields True in rank 0, or if this process is alone.

    The other ranks follow rank 0 until its block ends; only then do they enter theirs, with False.
    """
    if rank is None:
        yield True
        return
    with process_group(rank.rank, rank.size):
        if rank.rank == 0:
            yield True
            if dist.is_initialized():
                send(None)
            return
        try:
            follow(rank.local_rank)
        except RuntimeError as error:
            if is_lost_connection(error):
                raise loss_error("another process has ended") from error
            raise
    yield False
