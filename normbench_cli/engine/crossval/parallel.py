"""Training all folds: in parallel, each in its own process on one core, or one after the other in a thread.

Graphs are small, so one training run cannot keep two cores busy; two can if they do not share an interpreter.
Processes are forked, which shares the data and avoids startup time.  Where forking is not possible (an accelerator,
another system) the folds are trained in a thread, so that the caller can still report progress.  Both ways give
bit-identical results.
"""

from __future__ import annotations

import copy
import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from multiprocessing.context import ForkProcess

import torch
import torch.nn.functional as F
from torch import nn

from normbench_cli.device import has_accelerator, on_accelerator
from normbench_cli.engine.crossval.fold import Fold, FoldPlan
from normbench_cli.engine.crossval.process_tuning import threads, tune_malloc
from normbench_cli.engine.crossval.train import ScoringBatch, scoring_batches, train_fold
from normbench_cli.engine.events import Diverged
from normbench_cli.engine.protocols import FoldData
from normbench_cli.errors import NormbenchError
from normbench_cli.interrupts import held_back
from normbench_cli.norms.protocols import CompilesAhead

PROGRESS_INTERVAL = 0.5  # seconds


def train_folds(folds: list[Fold], data: FoldData, plan: FoldPlan) -> Iterator[Fold | None]:
    """Yield each fold as soon as it is trained, and None when no fold has finished for a while.

    All training has stopped when this generator ends, even if the caller closes it early.
    """
    workers = min(torch.get_num_threads(), len(folds))
    tune_malloc()
    can_fork = "fork" in multiprocessing.get_all_start_methods() and not has_accelerator()
    if workers > 1 and can_fork and not on_accelerator(data.device):
        yield from train_in_processes(folds, data, plan, workers)
    else:
        yield from train_in_thread(folds, data, plan)


def train_in_thread(folds: list[Fold], data: FoldData, plan: FoldPlan) -> Iterator[Fold | None]:
    """Train one fold after the other."""
    stop = threading.Event()
    scoring = scoring_batches(data) if plan.scores_all else []
    pool = ThreadPoolExecutor(1, "fold")
    try:
        for fold in folds:
            future = pool.submit(train_fold, fold, data, scoring, plan, lambda: not stop.is_set())
            while not wait([future], PROGRESS_INTERVAL, FIRST_COMPLETED).done:
                yield None
            future.result()  # raises the error that ended training
            yield fold
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def train_in_processes(folds: list[Fold], data: FoldData, plan: FoldPlan, workers: int) -> Iterator[Fold | None]:
    """Train `workers` folds at a time, each in a forked process."""
    scoring = scoring_batches(data) if plan.scores_all else []
    waiting = list(folds)
    running: dict[Connection, tuple[ForkProcess, Fold]] = {}
    for fold in folds:  # so that this process sees the worker's scores and progress
        fold.sums.share_memory_()
        fold.done.share_memory_()
    compile_before_fork(folds[0].model, folds[0].train, data, plan)
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                fold = waiting.pop(0)
                with held_back():
                    receiver, process = start_worker(fold, data, scoring, plan)
                    running[receiver] = process, fold
            ready = wait_for(list(running), PROGRESS_INTERVAL)
            for ended in ready:
                assert isinstance(ended, Connection)
                process, fold = running.pop(ended)
                receive_result(fold, ended)
                process.join()
                yield fold
            if not ready:
                yield None
    finally:
        for process, _ in running.values():
            process.kill()  # a process that has just started handles no signals yet
            process.join()


def start_worker(
    fold: Fold, data: FoldData, scoring: Sequence[ScoringBatch], plan: FoldPlan
) -> tuple[Connection, ForkProcess]:
    """Start a process that trains the fold; return it with the connection that receives its result."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=worker_main, args=(sender, fold, data, scoring, plan, os.getpid()), daemon=True)
    with warnings.catch_warnings():  # Python warns of forking with threads; torch's are idle and hold no lock
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    sender.close()
    return receiver, process


def worker_main(
    sender: Connection, fold: Fold, data: FoldData, scoring: Sequence[ScoringBatch], plan: FoldPlan, parent: int
) -> None:
    """Train the fold and send its result, or the error that stopped it.

    Exits within an epoch of its parent's death: a parent killed by SIGKILL cannot terminate its children.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent ends its workers
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    torch.set_num_threads(1)
    try:
        train_fold(fold, data, scoring, plan, lambda: os.getppid() == parent)
        if os.getppid() == parent:
            sender.send((fold.layer_metrics, fold.peak_memory))
    except (Diverged, NormbenchError) as error:
        sender.send(error)
    except Exception as error:  # any error must reach the parent, even one that cannot be pickled
        sender.send(RuntimeError(f"fold {fold.number}: {type(error).__name__}: {error}"))


def receive_result(fold: Fold, receiver: Connection) -> None:
    """Store the result that `worker_main` sent, or raise it if it is an error."""
    try:
        result = receiver.recv()
    except EOFError:
        raise NormbenchError(
            f"the process that trained fold {fold.number} was killed", "resume the run when there is memory for it"
        ) from None
    if isinstance(result, Exception):
        raise result
    fold.layer_metrics, fold.peak_memory = result


def compile_before_fork(model: nn.Module, train: torch.Tensor, data: FoldData, plan: FoldPlan) -> None:
    """Train a copy of the model for one step, on one thread as the workers will, so that each kernel is compiled once
    here instead of once per worker: those of the first step, and through `compile_ahead` those of later ones."""
    model = copy.deepcopy(model).train()
    for module in model.modules():
        if isinstance(module, CompilesAhead):
            module.register_forward_pre_hook(lambda module, inputs: module.compile_ahead(inputs[0]))
    inputs, labels = data.batch(train[: plan.batch_size])
    with threads(1), torch.random.fork_rng(devices=[]):
        F.cross_entropy(model(inputs), labels).backward()
