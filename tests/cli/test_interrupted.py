"""Ctrl-C or SIGTERM, wherever a command is: exit code 130, one line that is true, and a run that can be resumed."""

from __future__ import annotations

import functools
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from normbench_cli import build
from normbench_cli.config import make_config
from normbench_cli.engine.crossval import loop as crossval_loop
from normbench_cli.engine.crossval.parallel import train_in_processes
from tests.killing import CAN_FORK, check_same, recorded_runs, run_to_end, traces, trap, write_errors_to

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="this system cannot fork processes")

TINY = ["--data", "digits:size=8", "--model", "mlp:size=8,width=16", "--batch-size", "256", "--epochs", "2"]
TRAIN = ["train", *TINY, "--norm", "augnorm", "--set", "checkpoint_minutes=0"]
FOLDS = ["train", "--data", "tu:name=TOY", "--model", "gcn:hidden=8", "--folds", "2", "--epochs", "3"]
EARLY = ["loading", "creating the database"]
TRAINING = [  # place, call
    ("begun", 1),
    ("step", 1),
    ("step", 9),
    ("scoring", 1),
    ("scoring", 2),
    ("half written", 2),
    ("written", 2),
    ("renamed", 2),
    ("before an old checkpoint is removed", 1),
    ("checkpoint saved", 3),
    ("rows", 1),
    ("before commit", 4),
    ("after commit", 3),
]
SLOW = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """What the forked processes then need not load again."""
    import pandas  # noqa: F401
    from alembic import command  # noqa: F401

    from normbench_cli.cli import _progress  # noqa: F401
    from normbench_cli.experiments import evaluate, grid  # noqa: F401
    from normbench_cli.reporting import render, report  # noqa: F401

    settings = {"data": "digits:size=8", "model": "mlp:size=8,width=16", "batch_size": 256, "norm": "augnorm"}
    build.make_training(build.resolve(make_config(settings)))


@pytest.fixture
def graphs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data set of graphs: rings and paths."""
    rings = "\n".join(
        "\n".join([f"6 {ring}", *(f"0 2 {(n - 1) % 6} {(n + 1) % 6}" if ring else f"0 1 {n ^ 1}" for n in range(6))])
        for ring in [0, 1] * 8
    )
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "TOY.txt").write_text(f"16\n{rings}\n")
    monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path / "data"))


def interrupted(
    home: Path,
    words: list[str],
    place: str,
    at: int = 1,
    number: int = signal.SIGINT,
    prepare: Callable[[], object] = lambda: None,
) -> str:
    """Run a command that is interrupted at a place; the one line that it prints."""
    errors = home.parent / "errors"

    def set_trap() -> None:
        write_errors_to(errors)
        prepare()
        trap(place, at, {}, number)

    code = run_to_end(home, words, set_trap)
    said = errors.read_text()
    assert (code, said.count("\n")) == (130, 1), said
    assert said.startswith("normbench: interrupted")
    return said


def check_resumable(home: Path, said: str) -> None:
    """The message and the row are true, and the command that the message names ends the run."""
    (run,) = recorded_runs(home)
    assert (run.status, run.message) == ("interrupted", "stopped by hand")
    assert said == f"normbench: interrupted; run {run.id} continues with `normbench train --resume {run.id}`\n"
    assert run_to_end(home, ["train", "--resume", run.id]) == 0
    assert [run.status for run in recorded_runs(home)] == ["finished"]


def test_a_training_is_interrupted_and_resumed(home: Path) -> None:
    check_resumable(home, interrupted(home, TRAIN, "step", 2, signal.SIGTERM))


@SLOW
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("place", "at"), TRAINING)
def test_a_training_interrupted_anywhere_ends_as_one_that_was_not(
    home: Path, tmp_path: Path, place: str, at: int, number: int
) -> None:
    check_resumable(home, interrupted(home, TRAIN, place, at, number))
    whole = tmp_path / "whole"
    assert run_to_end(whole, TRAIN) == 0
    check_same(traces(home), traces(whole))


@pytest.mark.parametrize("place", [*(pytest.param(name, marks=SLOW) for name in EARLY), "beginning"])
def test_before_a_run_is_recorded_nothing_is_said_to_be(home: Path, place: str) -> None:
    said = interrupted(home, TRAIN, place)
    recorded = recorded_runs(home) if (home / "normbench.db").exists() else []
    if place == "beginning":
        (run,) = recorded
        assert (run.status, run.id in said) == ("interrupted", True)
    else:
        assert (said, recorded) == ("normbench: interrupted\n", [])
        assert run_to_end(home, TRAIN) == 0


def test_a_finished_run_is_not_called_interrupted(home: Path) -> None:
    assert interrupted(home, TRAIN, "ending") == "normbench: interrupted\n"
    assert [run.status for run in recorded_runs(home)] == ["finished"]


def test_a_grid_says_how_its_other_cells_are_trained(home: Path) -> None:
    said = interrupted(home, [*TRAIN, "--seeds", "0-2"], "begun", 2)
    finished, stopped = sorted(recorded_runs(home), key=lambda run: run.started_at)
    assert (finished.status, stopped.status) == ("finished", "interrupted")
    assert f"--resume {stopped.id}`; the same command trains the cells that are left" in said


@SLOW
def test_the_command_names_the_database_and_the_packages_that_it_needs(home: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs.py").write_text("from torch import nn\nclass Nothing(nn.Identity): ...\n")
    words = ["train", *TINY, "--act", "theirs:Nothing", "--db", "other.db"]
    said = interrupted(home, words, "step")
    assert "`normbench train --resume " in said
    assert said.endswith(" --allow theirs --db other.db`\n")


@SLOW
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.usefixtures("graphs")
def test_a_cross_validation_is_interrupted_and_resumed(home: Path, processes: int) -> None:
    def use_processes() -> None:
        setattr(crossval_loop, "train_folds", functools.partial(train_in_processes, workers=processes))  # noqa: B010

    check_resumable(
        home, interrupted(home, FOLDS, "epoch of a fold", 2, prepare=use_processes if processes > 1 else lambda: None)
    )


@pytest.mark.parametrize(
    ("words", "place", "says"),
    [
        pytest.param(["eval", "RUN"], "scoring again", "interrupted\n", marks=SLOW),
        (["eval", "RUN", "--attack", "gaussian"], "scores recorded", "scores are already recorded with run RUN\n"),
        pytest.param(
            ["profile", "--only", "layers", "--shape", "8x4", "--rounds", "5", "--no-memory"],
            "timing",
            "give the command again\n",
            marks=SLOW,
        ),
        pytest.param(["report"], "reporting", "interrupted\n", marks=SLOW),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_other_commands_are_interrupted(home: Path, words: list[str], place: str, says: str) -> None:
    assert run_to_end(home, TRAIN) == 0
    (run,) = recorded_runs(home)
    said = interrupted(home, [word.replace("RUN", run.id) for word in words], place, number=signal.SIGTERM)
    assert said.endswith(says.replace("RUN", run.id))
    assert {one.status for one in recorded_runs(home) if one.id != run.id} <= {"interrupted"}


def test_an_interrupted_command_does_not_wait_for_the_queues_of_libraries() -> None:
    """As inductor's, which compiled every kernel in its queue before the process ended."""
    program = (
        "import sys, time\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from normbench_cli import __main__\n"
        "from normbench_cli.cli import main\n"
        "def interrupted(standalone_mode):\n"
        "    pool = ThreadPoolExecutor(1)\n"
        "    for _ in range(100): pool.submit(time.sleep, 1)\n"
        "    sys.stdout.write('printed so far')\n"
        "    raise KeyboardInterrupt\n"
        "main.app = interrupted\n"
        "__main__.run()\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=80)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "printed so far", "normbench: interrupted\n")


@SLOW
@pytest.mark.parametrize("number", range(12))
def test_a_real_command_is_interrupted_at_any_time(home: Path, tmp_path: Path, number: int) -> None:
    """Started as by a user, compiling its kernels, and signalled with its whole group, as by Ctrl-C."""
    rng = random.Random(number)
    words = ["train", "--norm", "augnorm", "--data", "digits", "--model", "resnet20", "--epochs", "5000", "--compile"]
    environment = os.environ | {"NORMBENCH_COMPILE": "always", "PYTHONPATH": str(Path(__file__).parents[2])}
    with (tmp_path / "errors").open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "normbench_cli", *words, "-q"],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
        time.sleep(rng.uniform(0.3, 60))
        os.killpg(process.pid, rng.choice([signal.SIGINT, signal.SIGTERM]))
        try:
            assert process.wait(timeout=60) == 130
        finally:
            process.kill()
            process.wait()
    said = (tmp_path / "errors").read_text()
    assert said.count("\n") == 1, said
    assert said.startswith("normbench: interrupted")
    runs = recorded_runs(home) if (home / "normbench.db").exists() else []
    assert ["--resume" in said] * len(runs) == [run.status == "interrupted" for run in runs]
