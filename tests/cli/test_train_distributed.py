"""train with --nproc: what is trained, and what is refused in one line."""

from __future__ import annotations

import json

import pytest

from normbench_cli.config import make_config
from tests.support import TINY, RunCommand

MLP = ["--model", "mlp:size=8,width=8"]


@pytest.mark.slow
def test_two_processes_train_one_run_which_is_recorded_with_their_number(normbench: RunCommand) -> None:
    ended = normbench("train", *TINY, *MLP, "--nproc", "2", "--sync-norm", "--json")
    assert ended.code == 0, ended.err
    (run,) = json.loads(ended.out)["runs"]
    assert run["status"] == "finished"
    assert (run["config"]["nproc"], run["config"]["sync_norm"]) == (2, True)
    again = normbench("eval", run["id"], "--json")  # by one process
    assert json.loads(again.out)["runs"][0]["metrics"]["test/accuracy"] == run["metrics"]["test/accuracy"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--sync-norm"], "one process trains; give --nproc 2 or more"),
        (["--nproc", "2", "--compile"], "which several processes do not support; drop --compile"),
        (["--nproc", "40", "--norm", "batchnorm"], "give --batch-size 80 or more, or --sync-norm"),
        (["--nproc", "65", "--norm", "layernorm"], "give --batch-size 65 or more"),
        (["--nproc", "2", "--sync-norm", "--norm", "torch.nn:BatchNorm2d"], "has no method sync_over(group)"),
        (["--nproc", "2", "--executor", "local"], "--executor local gives a run to one process; drop one of them"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_started(
    normbench: RunCommand, words: list[str], says: str
) -> None:
    ended = normbench("train", *TINY, *MLP, *words)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err
    assert ended.err.count("\n") == 1


def test_graphs_are_refused(normbench: RunCommand) -> None:
    ended = normbench("train", "--data", "toy_graphs", "--model", "gin", "--nproc", "2")
    assert ended.code == 2
    assert "toy_graphs is cross-validated, one fold a process; drop --nproc" in ended.err


def test_a_dry_run_knows_the_processes(normbench: RunCommand) -> None:
    ended = normbench("train", *TINY, *MLP, "--nproc", "2", "--dry-run", "--json")
    assert ended.code == 0, ended.err
    (run,) = json.loads(ended.out)["runs"]
    assert (run["steps"], run["config"]["nproc"]) == (2, 2)


def test_a_fingerprint_knows_processes_and_shared_statistics_and_nothing_of_one_process() -> None:
    alone = make_config({})
    assert make_config({"nproc": 1, "sync_norm": False}).fingerprint() == alone.fingerprint()
    several = [make_config({"nproc": 2}), make_config({"nproc": 2, "sync_norm": True})]
    assert len({alone.fingerprint(), *(config.fingerprint() for config in several)}) == 3


def test_a_suite_is_reproduced_with_other_processes(normbench: RunCommand) -> None:
    ended = normbench("reproduce", "popnorm/table2", "--scale", "smoke", "--nproc", "2", "--executor", "local")
    assert ended.code == 2
    assert "--executor local gives a run to one process" in ended.err
