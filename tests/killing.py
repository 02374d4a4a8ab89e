"""Killing a command at a chosen place, and comparing what is left with an uninterrupted run.

A command runs in a forked process (`start`, `run_to_end`), as a person would start it.  A `trap` in that process counts
the calls of a function, and at one of them the process dies by SIGKILL: no handler runs and nothing is tidied up.
`traces` reads all that a run left in its home, without the values that differ from run to run (times, memory), and
`check_same` compares two of these to the last bit.
"""

from __future__ import annotations

import functools
import io
import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable, MutableMapping
from importlib import import_module
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import torch
from sqlalchemy import select

from normbench_cli.cli.main import main
from normbench_cli.engine.training import Training
from normbench_cli.experiments import lifecycle
from normbench_cli.store import Store
from normbench_cli.store.metric_names import MetricName
from normbench_cli.store.schema import Metric, Run, SeriesChunk

CAN_FORK = hasattr(os, "fork")
FORK: Any = multiprocessing.get_context("fork" if CAN_FORK else None)
SQL = "sqlalchemy.engine.default:DefaultDialect"
PLACES = {  # a function, and when to die: before or after one of its calls, or with half of its file written
    "step": ("normbench_cli.engine.loop:train_step", "before"),
    "scoring": ("normbench_cli.engine.loop:score", "before"),
    "half written": ("torch:save", "half"),
    "written": ("os:fsync", "after"),  # in turn the log, the file (not renamed yet), and the folder (after renaming)
    "renamed": ("pathlib:Path.replace", "after"),
    "before an old checkpoint is removed": ("pathlib:Path.unlink", "before"),
    "after an old checkpoint is removed": ("pathlib:Path.unlink", "after"),
    "checkpoint saved": ("normbench_cli.engine.checkpoint:save", "after"),
    "statement": (f"{SQL}.do_execute", "before"),
    "rows": (f"{SQL}.do_executemany", "after"),
    "before commit": (f"{SQL}.do_commit", "before"),
    "after commit": (f"{SQL}.do_commit", "after"),
    "epoch of a fold": ("normbench_cli.engine.crossval.train:evaluate", "before"),
}
OTHER_PLACES = {  # where a run is not yet recorded, or none is trained
    "loading": ("normbench_cli.build.resolution:load_data", "before"),
    "trying to compile": ("normbench_cli.build.resolution:meta_forward", "before"),
    "compiling": ("normbench_cli.norms._compile:_compiled", "before"),
    "beginning": ("normbench_cli.store.store:unused_id", "after"),
    "begun": ("normbench_cli.experiments.train:begin_run", "after"),
    "creating the database": ("normbench_cli.store.upgrade:enable_log", "after"),
    "ending": ("normbench_cli.experiments.train:end_run", "after"),
    "scoring again": ("normbench_cli.experiments.evaluate:score", "before"),
    "attacking": ("normbench_cli.experiments.evaluate:score_attacked", "before"),
    "scores recorded": ("normbench_cli.experiments.evaluate:new_damage", "before"),
    "timing": ("normbench_cli.experiments.profiling.measure:time_interleaved", "before"),
    "reporting": ("normbench_cli.reporting.report:select_runs", "before"),
}


def trap(place: str, at: int, calls: MutableMapping[str, int], number: int = signal.SIGKILL) -> None:
    """Count the calls at a place in `calls`, and at the call number `at` (0: at none) die, or get another signal.

    The signal goes to the process in which this is called, also if the place is in one that it has forked.
    """
    target, when = (PLACES | OTHER_PLACES)[place]
    process = os.getpid()
    module, _, path = target.partition(":")
    *owners, name = path.split(".")
    owner = functools.reduce(getattr, owners, import_module(module))
    real = getattr(owner, name)

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls[place] = calls.get(place, 0) + 1
        if calls[place] == at and when != "after":
            if when == "half" and number == signal.SIGKILL:
                real(args[0], content := io.BytesIO())
                args[1].write(content.getvalue()[: content.tell() // 2])
                args[1].flush()
            os.kill(process, number)
        result = real(*args, **kwargs)
        if calls[place] == at and when == "after":
            os.kill(process, number)
        return result

    setattr(owner, name, counted)


def nothing() -> None:
    """No preparation."""


def write_errors_to(path: Path) -> None:
    """Let everything that this process prints to stderr go to a file."""
    os.dup2(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), 2)
    sys.stderr = os.fdopen(2, "w", closefd=False)


def start(home: Path, words: list[str], prepare: Callable[[], object] = nothing) -> tuple[BaseProcess, Event]:
    """A command in a process of its own, and the event that its run is recorded.  `prepare` is called in there."""
    begun: Event = FORK.Event()
    real = Store.begin

    def begin(*args: Any, **kwargs: Any) -> str:
        run_id = real(*args, **kwargs)
        begun.set()
        return run_id

    def work() -> None:
        os.environ["NORMBENCH_HOME"] = str(home)
        sys.argv = ["normbench", *words, "-q"]
        torch.set_num_threads(1)  # a pool of threads does not survive a fork
        Training.progress_interval = lifecycle.SECONDS_BETWEEN_BEATS = 0
        setattr(os, "fsync", lambda _: None)  # noqa: B010  only a power cut needs it, and it takes most of the time here
        setattr(Store, "begin", begin)  # noqa: B010
        prepare()
        main()

    process: BaseProcess = FORK.Process(target=work)
    with warnings.catch_warnings():  # about threads, which are idle and hold no locks
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    return process, begun


def run_to_end(home: Path, words: list[str], prepare: Callable[[], object] = nothing) -> int | None:
    """Run a command in a process of its own; its exit code, or the negative number of the signal that killed it."""
    process, _ = start(home, words, prepare)
    process.join()
    return process.exitcode


def recorded_runs(home: Path) -> list[Run]:
    with Store.open(str(home / "normbench.db"), sweep=False) as store, store.reading() as session:
        return list(session.scalars(select(Run)))


def traces(home: Path) -> dict[str, Any]:
    """All that the one run of a home has left, without times and memory."""
    (run,) = recorded_runs(home)
    with Store.open(str(home / "normbench.db"), sweep=False) as store, store.reading() as session:
        metrics, chunks = list(session.scalars(select(Metric))), list(session.scalars(select(SeriesChunk)))
    files = sorted((home / "runs" / run.id).glob("*"))
    checkpoint = torch.load(files[-1], weights_only=True) if files else {}
    (checkpoint.get("tally") or {}).pop("laps", None)  # times, in the middle of the epoch in which a run diverged
    rows = map(metric_row, metrics)
    return {
        "status": (run.status, run.message),
        # if a cross-validation was resumed when no fold was left to train, nothing could be timed
        "metrics": sorted(row for row in rows if row[-1] or not run.config["folds"]),
        "series": sorted(map(series_row, chunks)),
        "checkpoint": checkpoint,
    }


def metric_row(metric: Metric) -> tuple[str, ...]:
    timed = metric.unit in ("ms", "s", "1/s") or metric.name == "peak_memory_bytes"
    name = MetricName(metric.split, metric.name, metric.condition)
    return str(name), str(metric.epoch), str(metric.step), "" if timed else repr(metric.value)


def series_row(chunk: SeriesChunk) -> tuple[str, str, int, int, bytes]:
    values = b"" if chunk.name == "step_time_ms" else chunk.data
    return chunk.name, str(chunk.epoch), chunk.first_step, chunk.count, values


def check_same(a: Any, b: Any) -> None:
    """Assert that two values are equal to the last bit, tensors in nested dictionaries too."""
    if isinstance(a, torch.Tensor):
        assert (a.dtype, a.shape, a.numpy().tobytes()) == (b.dtype, b.shape, b.numpy().tobytes())
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            check_same(a[key], b[key])
    else:
        assert repr(a) == repr(b)
