"""A run is never lost: killed at any moment and resumed, it ends with the rows and weights of an uninterrupted one.

Where a run dies is drawn from a fixed seed, among all calls that the uninterrupted run makes at a place.
"""

from __future__ import annotations

import functools
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from normbench_cli import build
from normbench_cli.config import make_config
from normbench_cli.engine.crossval import loop as crossval_loop
from normbench_cli.engine.crossval.parallel import train_in_processes
from normbench_cli.store import Store
from tests.killing import CAN_FORK, FORK, PLACES, check_same, recorded_runs, run_to_end, start, traces, trap

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="this system cannot fork processes")

TINY = {"data": "digits:size=8", "model": "mlp:size=8,width=16", "batch_size": 256, "epochs": 5}
RUNS: dict[str, dict[str, Any]] = {
    # a checkpoint is due at every step, also in the middle of epochs
    "within epochs": TINY | {"norm": "augnorm", "optimizer": "adam", "lr": 0.01, "checkpoint_minutes": 0},
    # the rate is so high that the third epoch is worse than the second, so which one was the best must be remembered
    "by epochs": TINY | {"norm": "popnorm", "lr": 1, "schedule": "constant", "probes": 2, "checkpoint_epochs": 2},
    "diverging": TINY | {"norm": "none", "lr": 1e30, "checkpoint_minutes": 0},
    "folds": {"data": "tu:name=TOY", "model": "gcn:hidden=8", "norm": "augnorm", "folds": 3, "epochs": 4},
}
OF_THE_STORE = ("statement", "rows", "before commit", "after commit")
CASES = [
    ("within epochs", "step", "any"),
    ("within epochs", "half written", "any"),
    ("within epochs", "before commit", "any"),
    ("folds", "epoch of a fold", "any"),
    ("folds", "after commit", "any"),
    ("folds", "before commit", "last"),  # all is measured, but the final status is not written yet
    ("diverging", "checkpoint saved", "last"),
]
MORE_CASES = [
    *((name, place, "any") for name in ("within epochs", "by epochs") for place in PLACES if "fold" not in place),
    *(("folds", place, "any") for place in OF_THE_STORE),
    *((name, "before commit", "last") for name in RUNS),
    ("by epochs", "scoring", "first"),
]


class Whole(NamedTuple):
    """An uninterrupted run."""

    traces: dict[str, Any]
    calls: dict[str, int]  # how often it comes to each place
    seconds: float  # of training


NewHome = Callable[[], Path]
MakeWhole = Callable[[str], Whole]


def command(name: str) -> list[str]:
    return ["train", *(word for key, value in RUNS[name].items() for word in ("--set", f"{key}={value}"))]


def next_command(home: Path, name: str) -> list[str]:
    """The command that continues a home's run; the run itself if none has begun; nothing if the run has ended."""
    runs = recorded_runs(home)
    assert len(runs) < 2
    if not runs:
        return command(name)
    return ["train", "--resume", runs[0].id] if runs[0].status in ("running", "interrupted") else []


@pytest.fixture(scope="module")
def new_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewHome]:
    """Makes homes with an empty database.  They share a data set of graphs: rings and paths."""
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
    rng, lines = random.Random(0), [str(count)]
    for number in range(count):
        size, ring = rng.randint(3, 8), number % 2
        lines.append(f"{size} {ring}")
        for node in range(size):
            near = [other % size for other in (node - 1, node + 1) if ring or 0 <= other < size]
            lines.append(" ".join(map(str, (rng.randint(0, 2), len(near), *near))))
    path.parent.mkdir()
    path.write_text("\n".join(lines))


@pytest.fixture(scope="module")
def whole(new_home: NewHome) -> MakeWhole:
    @functools.cache
    def make(name: str) -> Whole:
        config = build.resolve(make_config(RUNS[name]))  # loads what the forked processes then need not load again
        if not config.folds:
            build.make_training(config)
        home, calls = new_home(), FORK.Manager().dict()

        def count_calls() -> None:
            for place in PLACES:
                trap(place, 0, calls)

        process, begun = start(home, command(name), count_calls)
        assert begun.wait(60)
        began = time.monotonic()
        process.join()
        assert process.exitcode == 0
        return Whole(traces(home), dict(calls), time.monotonic() - began)

    return make


@pytest.mark.parametrize(
    ("name", "place", "which"),
    [*CASES, *(pytest.param(*case, marks=pytest.mark.slow) for case in MORE_CASES if case not in CASES)],
)
def test_killed_at_a_place(new_home: NewHome, whole: MakeWhole, name: str, place: str, which: str) -> None:
    expected, calls, _ = whole(name)
    home, anywhere = new_home(), random.Random(f"{name}, {place}").randint(1, calls[place])
    at = {"any": anywhere, "first": 1, "last": calls[place]}[which]
    assert run_to_end(home, command(name), lambda: trap(place, at, {})) == -signal.SIGKILL
    words = next_command(home, name)  # none if the run had ended, and only its result was still to be printed
    assert not words or run_to_end(home, words) == 0
    check_same(traces(home), expected)


@pytest.mark.parametrize(
    "name",
    [pytest.param("within epochs", marks=pytest.mark.slow), pytest.param("by epochs", marks=pytest.mark.slow), "folds"],
)
def test_killed_again_and_again(new_home: NewHome, whole: MakeWhole, name: str) -> None:
    expected, calls, _ = whole(name)
    home, rng, codes = new_home(), random.Random(name), list[int | None]()
    often = [place for place in calls if calls[place] > 4]
    while words := next_command(home, name):
        place, unharmed = rng.choice(often), len(codes) == 5
        at = 0 if unharmed else rng.randint(1, calls[place] // 4)
        codes.append(run_to_end(home, words, functools.partial(trap, place, at, {})))
        assert codes[-1] in (0, 0 if unharmed else -signal.SIGKILL)
    assert len(codes) > 2
    check_same(traces(home), expected)


@pytest.mark.parametrize("number", [0, *(pytest.param(number, marks=pytest.mark.slow) for number in range(1, 4))])
def test_killed_by_the_clock(new_home: NewHome, whole: MakeWhole, number: int) -> None:
    name = list(RUNS)[number % 2]
    expected, _, seconds = whole(name)
    process, begun = start(home := new_home(), command(name))
    assert begun.wait(60)
    time.sleep(random.Random(number).uniform(0, seconds))
    process.kill()
    process.join()
    if words := next_command(home, name):  # the run may have been quicker
        assert run_to_end(home, words) == 0
    check_same(traces(home), expected)


def test_a_killed_cross_validation_leaves_no_process_behind(new_home: NewHome) -> None:
    def use_two_processes() -> None:  # as on a machine with two threads
        setattr(crossval_loop, "train_folds", functools.partial(train_in_processes, workers=2))  # noqa: B010

    process, _ = start(new_home(), [*command("folds"), "--set", "epochs=100000"], use_two_processes)
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
