"""train with axes and files: tables show what varies, dry runs the grid, wrong words are one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from normbench_cli.axes.experiment import make_experiment
from normbench_cli.cli._tables import print_dry_runs, print_results
from normbench_cli.experiments.dry_run import DryRun, Estimate
from normbench_cli.experiments.result import RunResult
from tests.support import TINY, RunCommand, recorded_in, train

GIVEN = {"norm": "bn,none", "lr": "log:0.01..1/3", "batch_size": [16, 32, 64], "act": "relu", "seeds": 0}
EXPERIMENT = """
norm = ["batchnorm", "none"]
model = "mlp:width=8"
data = "digits:size=8"
iterations = 2
batch-size = 64
"""


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """What a table of the given grid prints, in words."""
    experiment = make_experiment(GIVEN, "lr,batch_size")
    results = [
        RunResult(str(n), "failed", one, {}, "a fault", fingerprint="") for n, one in enumerate(experiment.configs())
    ]
    print_results(results, experiment.axes)
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_a_table_has_columns_for_the_settings_that_vary_and_for_no_others(lines: list[list[str]]) -> None:
    assert lines[0] == ["run", "norm", "batch_size", "lr", "status"]
    assert lines[1:4] == [
        [str(n), "batchnorm", *pair, "failed"] for n, pair in enumerate((("16", "0.01"), ("32", "0.1"), ("64", "1")))
    ]
    assert " ".join(lines[8]).startswith("In common: act relu, model resnet20, data digits, seed 0.")
    assert " ".join(lines[10]) == "batchnorm relu batch_size 32 lr 0.1 seed 0: a fault"


def test_a_dry_run_of_a_grid_shows_shared_settings_once_and_a_row_a_cell(capsys: pytest.CaptureFixture[str]) -> None:
    experiment = make_experiment(GIVEN, "lr,batch_size")
    runs = [DryRun(one, "0" * 16, 1, [], Estimate(1, 1.0, 1)) for one in experiment.configs()]
    print_dry_runs(runs, experiment.axes)
    text = capsys.readouterr().out
    assert text.count("momentum") == 1
    rows = [line.split() for line in text.splitlines()]
    assert rows[rows.index(["recipe", "digits"]) + 1][0] == "epochs"
    assert ["norm", "batch_size", "lr", "fingerprint"] in [row[:4] for row in rows]
    assert [row[:3] for row in rows if "0" * 16 in row][4] == ["none", "32", "0.1"]


def test_a_dry_run_tries_what_costs_the_same_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from normbench_cli.experiments import dry_run

    tried: list[float] = []

    def try_one(config: object, fingerprint: str) -> DryRun:
        tried.append(1)
        return DryRun(config, fingerprint, 1, [], Estimate(1, 1.0, 1))  # type: ignore[arg-type]

    monkeypatch.setattr(dry_run, "dry_run_one", try_one)
    monkeypatch.setattr(dry_run, "check_cells", lambda configs: None)
    configs = make_experiment({**GIVEN, "seeds": "0-1", "model": "mlp"}).configs()
    found = dry_run.dry_run(configs)
    assert len(tried) == 2 * 3  # norms and batch sizes
    assert [(one.config, one.fingerprint) for one in found] == [(one, one.fingerprint()) for one in configs]


def test_an_experiment_file_is_trained_overridden_and_skipped_where_it_is_finished(normbench: RunCommand) -> None:
    Path("mine.toml").write_text(EXPERIMENT)
    first = json.loads(normbench("train", "mine.toml", "-q", "--json").out)["runs"]
    assert [run["config"]["norm"] for run in first] == ["batchnorm", "none"]
    (new,) = json.loads(normbench("train", "mine.toml", "--norm", "bn,wn", "-q", "--json").out)["runs"]
    assert new["config"]["norm"] == "weightnorm"
    assert normbench("train", "mine.toml", "--lr", "0.1,x").code == 2


def test_save_writes_a_file_and_trains_nothing(normbench: RunCommand, home: Path) -> None:
    words = ("--lr", "0.1,0.2", "--batch-size", "8,16", "--zip", "lr,batch-size", "--save", "new.toml")
    ended = normbench("train", *words, "--json")
    assert json.loads(ended.out) == {"file": "new.toml", "cells": 2}
    assert recorded_in(home) == []
    ended = normbench("train", *words)
    assert (ended.code, ended.err) == (2, "normbench: new.toml exists; give another name, or remove it\n")
    ended = normbench("train", "new.toml", "--save", "again.toml")
    assert ended.out == "written: again.toml, 2 runs\n"
    assert Path("again.toml").read_text().splitlines()[1:] == Path("new.toml").read_text().splitlines()[1:]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["popnorm"], "'popnorm' is not an experiment; give a .toml file"),
        (["--lr", "0.1..x"], "lr=0.1..x is not a range; write FIRST..LAST/COUNT"),
        (["--zip", "lr,act"], "zip names lr, which has no values"),
        (["--set", "inti=xavier"], "there is no setting 'inti'; did you mean 'init'?"),
        (["x.toml", "--resume", "1234"], "but x.toml is given; drop the file"),
        (["--rerun", "--resume", "1234"], "but --rerun is given; drop that option"),
        (["--save", "x.toml", "--resume", "1234"], "but --save x.toml is given; drop that option"),
        (["--save", "x.txt"], "--save x.txt is not a .toml file; write --save x.txt.toml"),
        (["--set", "probes=1", "--set", "probes=2"], "probes has 2 values, and a run's result does not depend on it"),
    ],
)
def test_a_wrong_word_is_one_line(normbench: RunCommand, words: list[str], says: str) -> None:
    ended = normbench("train", *words)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.slow
def test_every_kind_of_axis_is_trained(normbench: RunCommand) -> None:
    words = ["--norm", "augnorm:phi=1.1..1.9/2", "--lr", "log:0.1..1/2", "--set", "init=xavier,kaiming"]
    runs = train(normbench, *words, "--model", "mlp:width=8")
    assert len({run["fingerprint"] for run in runs}) == 8
    table = normbench("train", *TINY, *words, "--model", "mlp:width=8", "--rerun").out
    assert table.splitlines()[0].split()[1:5] == ["norm", "lr", "init", "status"]
