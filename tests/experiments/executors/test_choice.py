"""Options become a choice or one line that says what is wrong; no executor is loaded for that."""

from __future__ import annotations

import sys

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.experiments.executors.choice import EXTRAS, Choice, PerRun, choose, parse_per_run


def test_without_an_executor_nothing_is_chosen() -> None:
    assert choose(None) is None


def test_options_become_a_choice_and_the_choice_options() -> None:
    choice = choose("local", 3, "cpus=2, gpus=0.5")
    assert choice == Choice("local", 3, PerRun(2.0, 0.5))
    assert choice.words() == ["--executor", "local", "--jobs", "3", "--per-run", "cpus=2,gpus=0.5,hours=24"]
    assert choice.per_run.threads == 2


def test_a_scheduler_is_asked_for_one_core_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("normbench_cli.experiments.executors.choice.find_spec", lambda name: object())
    for executor in EXTRAS:
        choice = choose(executor)
        assert choice is not None
        assert choice.per_run.cpus == 1
    local = choose("local")
    assert local is not None
    assert local.per_run.cpus is None


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"executor": "locl"}, "--executor locl is not known; did you mean 'local'"),
        ({"executor": None, "jobs": 2}, "--jobs is for an executor, and none is given; add --executor local"),
        ({"executor": None, "address": "a:1"}, "add --executor ray"),
        ({"executor": "local", "address": "a:1"}, "--address is for --executor ray"),
        ({"executor": "local", "jobs": 0}, "--jobs is 0; give 1 or more"),
        ({"executor": "local", "per_run": "cpu=2"}, "--per-run has no 'cpu'; did you mean 'cpus'"),
        ({"executor": "local", "per_run": "cpus"}, "cpus= is not an amount"),
        ({"executor": "local", "per_run": "cpus=0"}, "cpus=0 is not an amount"),
        ({"executor": "local", "per_run": "cpus=nan"}, "is not an amount"),
        ({"executor": "local", "per_run": "gpus=1.5"}, "neither a part of a GPU nor whole GPUs"),
    ],
)
def test_what_makes_no_sense_is_one_line(given: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says.replace("(", r"\(")):
        choose(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(("executor", "extra"), EXTRAS.items())
def test_a_missing_package_is_one_line_with_the_extra_to_install(
    executor: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, executor, None)
    with pytest.raises(UsageError) as refused:
        choose(executor)
    assert str(refused.value) == (
        f'--executor {executor} needs the package {executor}; pip install "normbench[{extra}]"'
    )


def test_fractions_of_cores_compute_on_one_thread() -> None:
    assert parse_per_run("cpus=0.5").threads == 1
    assert parse_per_run("").threads is None
