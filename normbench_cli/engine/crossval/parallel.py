"""Folds trained side by side: each on one processor core, in a process of its own.

Graphs are small, so one training cannot keep two cores busy; two can, if they do not share one interpreter.  A fold
gives bit for bit what it gives alone: it has random generators of its own.  Processes are forked, which shares the
data and costs no second start; where that is not possible (an accelerator, another system) one training runs after
the other, in a thread, so that the caller can look on.
"""

from __future__ import annotations

import copy
import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from typing import Any

import torch
import torch.nn.functional as F

from normbench_cli.device import has_accelerator, on_accelerator
from normbench_cli.engine.crossval.train import PIECE, Fold, Plan, Sliceable, train_fold
from normbench_cli.engine.events import Diverged
from normbench_cli.errors import NormbenchError

SECONDS_BETWEEN_LOOKS = 0.5
LARGEST_KEPT = 31 * 2**20  # bytes; glibc learns from blocks below 32 MiB


def trained(folds: list[Fold], data: Sliceable, plan: Plan) -> Iterator[Fold | None]:
    """Each fold when it has been trained, and None when none has ended for a while.

    Whatever happens to the caller, all trainings have ended when this has.
    """
    workers = min(torch.get_num_threads(), len(folds))
    keep_memory()
    forks = "fork" in multiprocessing.get_all_start_methods() and not has_accelerator()
    if workers > 1 and forks and not on_accelerator(data.device):
        yield from trained_in_processes(folds, data, plan, workers)
    else:
        yield from trained_here(folds, data, plan)


def trained_here(folds: list[Fold], data: Sliceable, plan: Plan) -> Iterator[Fold | None]:
    """One after the other, in a thread."""
    stop, pieces = threading.Event(), data.chunks(PIECE)
    pool = ThreadPoolExecutor(1, "fold")
    try:
        for fold in folds:
            future = pool.submit(train_fold, fold, data, pieces, plan, lambda: not stop.is_set())
            while not wait([future], SECONDS_BETWEEN_LOOKS, FIRST_COMPLETED).done:
                yield None
            future.result()  # raises what ended the training
            yield fold
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def trained_in_processes(folds: list[Fold], data: Sliceable, plan: Plan, workers: int) -> Iterator[Fold | None]:
    context = multiprocessing.get_context("fork")
    pieces = data.chunks(PIECE)
    waiting = list(folds)
    running: dict[Connection, tuple[Any, Fold]] = {}
    for fold in folds:  # the caller sees in these how far a fold has come
        fold.sums.share_memory_()
        fold.count.share_memory_()
    warm_up(folds[0], data, plan)
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                fold = waiting.pop(0)
                receiver, sender = context.Pipe(duplex=False)
                arguments = (sender, fold, data, pieces, plan, os.getpid())
                process = context.Process(target=work, args=arguments, daemon=True)
                with warnings.catch_warnings():  # of threads, which wait for work and hold nothing
                    warnings.simplefilter("ignore", DeprecationWarning)
                    process.start()
                sender.close()
                running[receiver] = process, fold
            ready = wait_for(list(running), SECONDS_BETWEEN_LOOKS)
            for ended in ready:
                assert isinstance(ended, Connection)
                process, fold = running.pop(ended)
                take(fold, ended)
                process.join()
                yield fold
            if not ready:
                yield None
    finally:
        for process, _ in running.values():
            process.terminate()
            process.join()


def warm_up(fold: Fold, data: Sliceable, plan: Plan) -> None:
    """One step of a copy, on one thread as the processes will work: what layers compile for their first steps, and
    what they may come to need later (`compile_ahead`), is then compiled once, before the processes part."""
    model = copy.deepcopy(fold.model).train()
    for module in model.modules():
        if hasattr(module, "compile_ahead"):
            module.register_forward_pre_hook(lambda module, inputs: module.compile_ahead(inputs[0]))
    batch, labels = data.batch(fold.train[: plan.batch_size])
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            F.cross_entropy(model(batch), labels).backward()
    finally:
        torch.set_num_threads(threads)


def work(sender: Connection, fold: Fold, data: Sliceable, pieces: list[Any], plan: Plan, parent: int) -> None:
    """A process's work: train the fold, send what it found or what went wrong.  It does not outlive its parent by more
    than an epoch, for a parent that is killed stops nobody."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started us stops us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    torch.set_num_threads(1)
    try:
        train_fold(fold, data, pieces, plan, lambda: os.getppid() == parent)
        if os.getppid() == parent:
            sender.send((fold.solver, fold.peak_memory))
    except (Diverged, NormbenchError) as error:
        sender.send(error)
    except Exception as error:  # whatever it is, it is the parent that must hear of it
        sender.send(RuntimeError(f"fold {fold.number}: {type(error).__name__}: {error}"))


def take(fold: Fold, receiver: Connection) -> None:
    try:
        outcome = receiver.recv()
    except EOFError:
        raise NormbenchError(
            f"the process that trained fold {fold.number} was killed", "resume the run when there is memory for it"
        ) from None
    if isinstance(outcome, Exception):
        raise outcome
    fold.solver, fold.peak_memory = outcome


def keep_memory() -> None:
    """Freeing one large block tells glibc's allocator that large blocks come and go: from then on it keeps the memory
    of activations instead of fetching it from the system again in every step.  Elsewhere this does nothing."""
    torch.empty(LARGEST_KEPT, dtype=torch.uint8)
