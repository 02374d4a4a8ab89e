"""A run is never lost: killed at any moment and resumed, it ends with the rows and weights of an uninterrupted one.

Each command runs in a forked process, as a person would start it, and dies by SIGKILL: no handler runs, nothing is
tidied up.  Where it dies is drawn from a fixed seed, among all calls that the uninterrupted run makes at that place.
"""

from __future__ import annotations

import functools
import io
import multiprocessing
import os
import random
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from sqlalchemy import select

from normbench_cli import build
from normbench_cli.cli.main import main
from normbench_cli.config import make_config
from normbench_cli.engine.crossval import loop as crossval_loop
from normbench_cli.engine.crossval.parallel import train_in_processes
from normbench_cli.engine.training import Training
from normbench_cli.runs import lifecycle
from normbench_cli.store import Store
from normbench_cli.store.metric_names import MetricName
from normbench_cli.store.schema import Metric, Run, SeriesChunk

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked, which this system cannot")
FORK: Any = multiprocessing.get_context("fork" if hasattr(os, "fork") else None)

TINY = {"data": "digits:size=8", "model": "mlp:size=8,width=16", "batch_size": 256, "epochs": 5}
RUNS: dict[str, dict[str, Any]] = {
    # a checkpoint is due at every step, also in the middle of epochs
    "within epochs": TINY | {"norm": "augnorm", "optimizer": "adam", "lr": 0.01, "checkpoint_minutes": 0},
    # the rate is so high that the third epoch is worse than the second, and so which was the best must be remembered
    "by epochs": TINY | {"norm": "popnorm", "lr": 1, "schedule": "constant", "probes": 2, "checkpoint_epochs": 2},
    "diverging": TINY | {"norm": "none", "lr": 1e30, "checkpoint_minutes": 0},
    "folds": {"data": "tu:name=TOY", "model": "gcn:hidden=8", "norm": "augnorm", "folds": 3, "epochs": 4},
}
SQL = "sqlalchemy.engine.default:DefaultDialect"
PLACES = {  # a function, and when to die in it
    "step": ("normbench_cli.engine.loop:train_step", "before"),
    "scoring": ("normbench_cli.engine.loop:score", "before"),
    "half written": ("torch:save", "half"),
    "written": ("os:fsync", "after"),  # in turns the log, the file, before it is renamed, and the folder, after that
    "renamed": ("pathlib:Path.replace", "after"),
    "old one going": ("pathlib:Path.unlink", "before"),
    "old one gone": ("pathlib:Path.unlink", "after"),
    "kept": ("normbench_cli.engine.checkpoint:save", "after"),
    "statement": (f"{SQL}.do_execute", "before"),
    "rows": (f"{SQL}.do_executemany", "after"),
    "before commit": (f"{SQL}.do_commit", "before"),
    "after commit": (f"{SQL}.do_commit", "after"),
    "epoch of a fold": ("normbench_cli.engine.crossval.train:evaluate", "before"),
}
# all is measured, and that the run has finished or diverged is not written yet
LAST = [(name, "before commit", "last") for name in RUNS]
CASES = [(name, place, "any") for name in list(RUNS)[:2] for place in PLACES if "fold" not in place]
CASES += [("folds", place, "any") for place in ("epoch of a fold", *list(PLACES)[-5:-1])]
CASES += [*LAST, ("by epochs", "scoring", "first"), ("diverging", "kept", "last")]


def trap(place: str, at: int, calls: dict[str, int]) -> None:
    """Count the calls at a place, and die at one of them."""
    target, when = PLACES[place]
    module, _, path = target.partition(":")
    *owners, name = path.split(".")
    owner = functools.reduce(getattr, owners, import_module(module))
    real = getattr(owner, name)

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls[place] = calls.get(place, 0) + 1
        if calls[place] == at and when != "after":
            if when == "half":
                real(args[0], content := io.BytesIO())
                args[1].write(content.getvalue()[: content.tell() // 2])
                args[1].flush()
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*args, **kwargs)
        if calls[place] == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, counted)


def start(home: Path, words: list[str], prepare: Callable[[], Any] = lambda: None) -> tuple[Any, Any]:
    """A command in a process of its own, and the event that its run has begun."""
    begun, real = FORK.Event(), Store.begin

    def begin(*args: Any, **kwargs: Any) -> str:
        run_id = real(*args, **kwargs)
        begun.set()
        return run_id

    def work() -> None:
        os.environ["NORMBENCH_HOME"] = str(home)
        sys.argv = ["normbench", *words, "-q"]
        torch.set_num_threads(1)  # a pool of threads does not survive a fork
        Training.progress_interval = lifecycle.SECONDS_BETWEEN_BEATS = 0
        os.fsync = lambda handle: None  # a killed process needs it not, and it takes most of the time here
        Store.begin = begin  # type: ignore[method-assign]
        prepare()
        main()

    process = FORK.Process(target=work)
    with warnings.catch_warnings():  # of threads, which wait for work and hold nothing
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    return process, begun


def ended(home: Path, words: list[str], prepare: Callable[[], Any] = lambda: None) -> int:
    process, _ = start(home, words, prepare)
    process.join()
    return process.exitcode


def words_of(name: str) -> list[str]:
    return ["train", *(word for key, value in RUNS[name].items() for word in ("--set", f"{key}={value}"))]


def going_on(home: Path, name: str) -> list[str]:
    """The words that go on with a home's run, none if it has ended.  If it has not begun, nothing was lost."""
    with Store.open(str(home / "normbench.db"), sweep=False) as store, store.reading() as session:
        runs = list(session.scalars(select(Run)))
    assert len(runs) < 2
    if runs and runs[0].status not in ("running", "interrupted"):
        return []
    return ["train", "--resume", runs[0].id] if runs else words_of(name)


def result(home: Path) -> dict[str, Any]:
    """All that a run leaves, but for how long things took and how much memory there was."""
    with Store.open(str(home / "normbench.db"), sweep=False) as store, store.reading() as session:
        (run,) = session.scalars(select(Run))
        metrics, series = list(session.scalars(select(Metric))), list(session.scalars(select(SeriesChunk)))
    files = sorted((home / "runs" / run.id).glob("*"))
    kept = torch.load(files[-1], weights_only=True) if files else {}
    (kept.get("tally") or {}).pop("laps", None)  # times, in the middle of the epoch in which a run diverged
    return {
        "state": (run.status, run.message),
        # where no fold is left to train, no time can be taken
        "metrics": sorted(row for row in map(row_of, metrics) if row[-1] or not run.config["folds"]),
        "series": sorted(
            (s.name, str(s.epoch), s.first_step, s.count, b"" if s.name == "step_time_ms" else s.data) for s in series
        ),
        "checkpoint": kept,
    }


def row_of(metric: Metric) -> tuple[str, ...]:
    timed = metric.unit in ("ms", "s", "1/s") or metric.name == "peak_memory_bytes"
    name = MetricName(metric.split, metric.name, metric.condition)
    return str(name), str(metric.epoch), str(metric.step), "" if timed else repr(metric.value)


def check_same(a: Any, b: Any) -> None:
    """Equal to the last bit, tensors too."""
    if isinstance(a, torch.Tensor):
        assert (a.dtype, a.shape, a.numpy().tobytes()) == (b.dtype, b.shape, b.numpy().tobytes())
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            check_same(a[key], b[key])
    else:
        assert repr(a) == repr(b)


@pytest.fixture(scope="module")
def new_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Path]]:
    """Makes homes with an empty database; they share a data set of graphs, rings and paths."""
    root = tmp_path_factory.mktemp("homes")
    write_graphs(root / "data" / "TOY.txt")
    with Store.open(str(root / "empty.db")):
        pass

    def make() -> Path:
        home = root / str(len(list(root.iterdir())))
        home.mkdir()
        shutil.copy(root / "empty.db", home / "normbench.db")
        return home

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NORMBENCH_DATA", str(root / "data"))
        yield make


def write_graphs(path: Path, count: int = 30) -> None:
    draw, lines = random.Random(0), [str(count)]
    for number in range(count):
        size, ring = draw.randint(3, 8), number % 2
        lines.append(f"{size} {ring}")
        for node in range(size):
            near = [other % size for other in (node - 1, node + 1) if ring or 0 <= other < size]
            lines.append(" ".join(map(str, (draw.randint(0, 2), len(near), *near))))
    path.parent.mkdir()
    path.write_text("\n".join(lines))


Whole = tuple[dict[str, Any], dict[str, int], float]


@pytest.fixture(scope="module")
def whole(new_home: Any) -> Callable[[str], Whole]:
    """An uninterrupted run: its result, how often it comes to each place, and for how long it trains."""

    @functools.cache
    def make(name: str) -> Whole:
        config = build.resolve(make_config(RUNS[name]))  # loads what processes then need not load again
        if not config.folds:
            build.make_training(config)
        home, calls = new_home(), FORK.Manager().dict()
        process, begun = start(home, words_of(name), lambda: [trap(place, 0, calls) for place in PLACES])
        assert begun.wait(60)
        began = time.monotonic()
        process.join()
        assert process.exitcode == 0
        return result(home), dict(calls), time.monotonic() - began

    return make


@pytest.mark.parametrize(("name", "place", "which"), CASES)
def test_killed_at_a_place(new_home: Any, whole: Any, name: Any, place: Any, which: Any) -> None:
    expected, calls, _ = whole(name)
    home, anywhere = new_home(), random.Random(f"{name}, {place}").randint(1, calls[place])
    at = {"any": anywhere, "first": 1, "last": calls[place]}[which]
    assert ended(home, words_of(name), lambda: trap(place, at, {})) == -signal.SIGKILL
    assert ended(home, going_on(home, name)) == 0
    check_same(result(home), expected)


@pytest.mark.parametrize("name", ["within epochs", "by epochs", "folds"])
def test_killed_again_and_again(new_home: Any, whole: Any, name: Any) -> None:
    expected, calls, _ = whole(name)
    home, draw, codes = new_home(), random.Random(name), list[int]()
    often = [place for place in calls if calls[place] > 4]
    while words := going_on(home, name):
        place, nowhere = draw.choice(often), len(codes) == 5
        at = 0 if nowhere else draw.randint(1, calls[place] // 4)
        codes.append(ended(home, words, functools.partial(trap, place, at, {})))
        assert codes[-1] in (0, 0 if nowhere else -signal.SIGKILL)
    assert len(codes) > 2
    check_same(result(home), expected)


@pytest.mark.parametrize("number", range(4))
def test_killed_by_the_clock(new_home: Any, whole: Any, number: Any) -> None:
    name = list(RUNS)[number % 2]
    expected, _, seconds = whole(name)
    process, begun = start(home := new_home(), words_of(name))
    assert begun.wait(60)
    time.sleep(random.Random(number).uniform(0, seconds))
    process.kill()
    process.join()
    if words := going_on(home, name):  # it may have been quicker
        assert ended(home, words) == 0
    check_same(result(home), expected)


def test_a_killed_cross_validation_leaves_no_process_behind(new_home: Any) -> None:
    def in_processes() -> None:
        crossval_loop.train_folds = functools.partial(train_in_processes, workers=2)  # as with two threads

    process, _ = start(new_home(), [*words_of("folds"), "--set", "epochs=100000"], in_processes)
    end, children = time.monotonic() + 60, list[psutil.Process]()
    while len(children) < 2 and time.monotonic() < end:
        time.sleep(0.05)
        children = psutil.Process(process.pid).children()
    process.kill()
    process.join()
    _, alive = psutil.wait_procs(children, timeout=30)
    for child in alive:
        child.kill()
    assert (len(children), alive) == (2, [])
