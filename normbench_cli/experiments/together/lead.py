"""The part of the first of several processes that train together."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist

from normbench_cli.build import ResolvedConfig
from normbench_cli.device import is_lost_connection, process_group, usable_cores
from normbench_cli.errors import NormbenchError, first_sentence
from normbench_cli.experiments.together.helpers import Helpers
from normbench_cli.experiments.together.place import Place
from normbench_cli.experiments.together.task import Task, follow, make_part, send
from normbench_cli.engine.training import Training

SECONDS_TO_SHOW = 5.0  # until a process is gone whose connection is
SECONDS_TO_LEAVE = 20.0  # until a process ends that has nothing left to do


class LostProcess(NormbenchError):
    """One of the processes that train together has ended."""


@contextmanager
def leading(config: ResolvedConfig, state: dict[str, Any] | None = None) -> Iterator[Training]:
    """The training of this process, with the others training along: those that torchrun has started, or else helpers
    on this machine.

    state: of a checkpoint to continue from.  A process that is lost is an error of one line.
    """
    if dist.is_initialized():
        try:
            yield led(config, state)
        except RuntimeError as error:
            raise lost("another process has ended", error) if is_lost_connection(error) else error
        return
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    helpers, patience = Helpers(config.nproc, store.port, torch.get_num_threads()), 0.0
    try:
        with process_group(0, config.nproc, store):
            yield led(config, state)
            send(None)
        patience = SECONDS_TO_LEAVE
    except (RuntimeError, KeyboardInterrupt) as error:
        by_connection = is_lost_connection(error)
        how = helpers.lost(SECONDS_TO_SHOW if by_connection else 0.0)
        if how and (by_connection or isinstance(error, KeyboardInterrupt)):
            raise lost(how, error) from error
        raise
    finally:
        helpers.stop(after=patience)


def led(config: ResolvedConfig, state: dict[str, Any] | None) -> Training:
    send(task := Task(config, state))
    return make_part(task, local_rank=0)


def lost(how: str, error: BaseException) -> LostProcess:
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
def joined(place: Place | None) -> Iterator[bool]:
    """In this block the processes that torchrun or SLURM has started are joined; whether this is the first of them, or
    alone.  The others train along until the block of the first one ends, and then enter it.
    """
    if place is None:
        yield True
        return
    with process_group(place.rank, place.size):
        if place.rank > 0:
            follow(place.local_rank)
            yield False
        else:
            yield True
            send(None)
