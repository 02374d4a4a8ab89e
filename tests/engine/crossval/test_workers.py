"""Whether folds are trained in processes or in a thread, and how an error in either reaches the caller."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from normbench_cli.engine.crossval import parallel
from normbench_cli.engine.crossval.fold import Fold, make_folds
from normbench_cli.engine.crossval.parallel import train_folds
from normbench_cli.engine.crossval.process_tuning import threads
from normbench_cli.engine.events import Diverged
from normbench_cli.engine.protocols import FoldData
from normbench_cli.errors import NormbenchError
from tests.engine.crossval.toy import PLAN, adam, make_model, rings_and_paths

ONE_EPOCH = replace(PLAN, epochs=1)


class FaultyData:
    """The toy data; a batch for training outside the main thread of the main process fails."""

    def __init__(self, fault: Callable[[], Any]) -> None:
        self._data: FoldData = rings_and_paths()
        self._fault = fault
        self._home = os.getpid(), threading.get_ident()
        self.device = self._data.device
        self.labels = self._data.labels

    def __len__(self) -> int:
        return len(self._data)

    def batch(self, chosen: Tensor) -> tuple[Any, Tensor]:
        if (os.getpid(), threading.get_ident()) != self._home:
            self._fault()
        return self._data.batch(chosen)

    def chunks(self, max_nodes: int) -> Sequence[tuple[Any, Tensor]]:
        return self._data.chunks(max_nodes)


def train(data: FoldData, workers: int, count: int = 3) -> list[bool]:
    """Train the first folds; of each whether it lies in memory that is shared with a process."""
    folds = make_folds(make_model, adam, data, ONE_EPOCH)[:count]
    with threads(workers):
        trained = [fold for fold in train_folds(folds, data, ONE_EPOCH) if fold is not None]
    assert sorted(fold.number for fold in trained) == list(range(count))
    assert all(fold.epochs_done == 1 for fold in folds)
    return [fold.sums.is_shared() for fold in folds]


@pytest.fixture
def quick_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fold is trained as soon as it is begun."""

    def at_once(fold: Fold, *_: object) -> None:
        fold.done[0] = 1

    monkeypatch.setattr(parallel, "train_fold", at_once)
    monkeypatch.setattr(parallel, "compile_before_fork", lambda *_: None)


@pytest.mark.usefixtures("quick_training")
@pytest.mark.parametrize(
    ("workers", "folds", "in_processes"), [(1, 3, False), (2, 1, False), (2, 2, True), (2, 3, True), (3, 2, True)]
)
def test_processes_are_used_for_several_folds_if_there_are_cores_for_them(
    workers: int, folds: int, in_processes: bool
) -> None:
    assert train(rings_and_paths(), workers, folds) == [in_processes] * folds


@pytest.mark.usefixtures("quick_training")
def test_no_process_is_forked_beside_an_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "has_accelerator", lambda: True)
    assert train(rings_and_paths(), 2) == [False] * 3


@pytest.mark.usefixtures("quick_training")
def test_no_process_is_forked_where_the_system_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    assert train(rings_and_paths(), 2) == [False] * 3


def raising(error: Exception) -> Callable[[], None]:
    def fault() -> None:
        raise error

    return fault


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("error", [Diverged(7), NormbenchError("no such graph", "give another")], ids=str)
def test_an_error_of_a_fold_is_raised_as_it_is(workers: int, error: Exception) -> None:
    with pytest.raises(type(error)) as raised:
        train(FaultyData(raising(error)), workers)
    assert str(raised.value) == str(error)
    assert vars(raised.value) == vars(error)


@pytest.mark.parametrize(("workers", "kind", "text"), [(1, KeyError, "edge"), (2, RuntimeError, "fold .: KeyError: ")])
def test_any_other_fault_reaches_the_caller_too(workers: int, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        train(FaultyData(raising(KeyError("edge"))), workers)


def test_a_process_that_is_killed_is_one_sentence() -> None:
    data = FaultyData(lambda: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(NormbenchError, match=r"the process that trained fold \d was killed"):
        train(data, workers=2)


@pytest.mark.usefixtures("quick_training")
def test_no_more_processes_than_threads_run_at_once() -> None:
    data, most = rings_and_paths(), 0
    folds = make_folds(make_model, adam, data, ONE_EPOCH)
    with threads(2):
        for _ in train_folds(folds, data, ONE_EPOCH):
            most = max(most, len(multiprocessing.active_children()))
    assert most <= 2


def test_threads_are_as_many_as_before_also_after_an_error() -> None:
    before, seen = torch.get_num_threads(), list[int]()

    def fail() -> None:
        with threads(before + 1):
            seen.append(torch.get_num_threads())
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert (seen, torch.get_num_threads()) == ([before + 1], before)


@pytest.mark.usefixtures("quick_training")
def test_no_process_is_left_when_the_caller_stops_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "train_fold", lambda *_: time.sleep(60))
    monkeypatch.setattr(parallel, "PROGRESS_INTERVAL", 0.01)
    data = rings_and_paths()
    with threads(2):
        events = cast("Generator[Fold | None]", train_folds(make_folds(make_model, adam, data, PLAN), data, PLAN))
        assert next(events) is None
        assert len(multiprocessing.active_children()) == 2
        events.close()
    assert multiprocessing.active_children() == []


def test_a_worker_is_a_daemon_so_that_no_exit_waits_for_it() -> None:
    fold = make_folds(make_model, adam, rings_and_paths(), ONE_EPOCH)[0]
    receiver, process = parallel.start_worker(fold, rings_and_paths(), [], ONE_EPOCH)
    process.kill()
    process.join()
    receiver.close()
    assert process.daemon
