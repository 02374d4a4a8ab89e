"""The part of the first of several processes that train together."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist

from normbench_cli.build import ResolvedConfig
from normbench_cli.device import is_lost_connection, leave, meeting_point, process_group, usable_cores
from normbench_cli.engine.training import Training
from normbench_cli.errors import NormbenchError
from normbench_cli.experiments.distributed.rank import Rank, launched_rank
from normbench_cli.experiments.distributed.task import Task, follow, make_part, send
from normbench_cli.experiments.distributed.workers import Workers
from normbench_cli.interrupts import Interrupted, ignored

SECONDS_TO_SHOW = 5.0  # until a process is gone whose connection is
SECONDS_TO_LEAVE = 20.0  # until a process ends that has nothing left to do


class LostProcess(NormbenchError):
    """One of the processes that train together has ended."""


@contextmanager
def as_rank_zero(config: ResolvedConfig, state: dict[str, Any] | None = None) -> Iterator[Training]:
    """The training of this process, with the others training along: those that torchrun has started, or else workers
    on this machine.

    state: of a checkpoint to continue from.  A process that is lost is an error of one line.
    """
    if launched_rank(config.nproc) is not None:
        with leading_launched(config, state) as training:
            yield training
        return
    store = meeting_point()
    workers, patience = Workers(config.nproc, store.port, torch.get_num_threads()), 0.0
    try:
        with process_group(0, config.nproc, store):
            yield led(config, state)
            send(None)
        patience = SECONDS_TO_LEAVE
    except (RuntimeError, KeyboardInterrupt) as error:
        by_connection = is_lost_connection(error)
        how = workers.lost(SECONDS_TO_SHOW if by_connection else 0.0)
        if how and (by_connection or isinstance(error, KeyboardInterrupt)):
            raise lost(how) from error
        raise
    finally:
        workers.stop(after=patience)


@contextmanager
def leading_launched(config: ResolvedConfig, state: dict[str, Any] | None) -> Iterator[Training]:
    """The others were started by torchrun or SLURM.  Whatever ends the training early ends the others, too."""
    if not dist.is_initialized():
        raise Interrupted("the other processes have ended, or this command is none that joins them, as `train` does")
    try:
        yield led(config, state)
    except BaseException as error:
        with ignored():  # torchrun interrupts the processes that are left when one is lost
            leave()
        if is_lost_connection(error):
            raise lost("another process has ended") from error
        raise


def led(config: ResolvedConfig, state: dict[str, Any] | None) -> Training:
    send(task := Task(config, state))
    return make_part(task, local_rank=0)


def lost(how: str) -> LostProcess:
    return LostProcess(f"{how}, and the training needs all of its processes", "continue it with --resume")


@contextmanager
def sharing_cores(processes: int) -> Iterator[None]:
    """In this block this process computes on its part of the cores, unless OMP_NUM_THREADS says on how many."""
    before = torch.get_num_threads()
    if processes > 1 and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, usable_cores() // processes))
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def joined(place: Rank | None) -> Iterator[bool]:
    """In this block the processes that torchrun or SLURM has started are joined; whether this is the first of them, or
    alone.  The others train along until the block of the first one ends, and then enter it.
    """
    if place is None:
        yield True
        return
    with process_group(place.rank, place.size):
        if place.rank == 0:
            yield True
            if dist.is_initialized():
                send(None)
            return
        try:
            follow(place.local_rank)
        except RuntimeError as error:
            if is_lost_connection(error):
                raise lost("another process has ended") from error
            raise
    yield False
