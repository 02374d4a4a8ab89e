"""A commit is measured by its own code, in a process of its own; what goes wrong there is said in a line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.nightly.bisect import worker
from normbench_cli.nightly.bisect.git import Checkout
from normbench_cli.nightly.bisect.worker import CannotMeasure, Request, Worker
from tests.nightly.bisect.histories import History

ANSWERS = """
import json, sys, theirs.norm
from pathlib import Path
request = json.loads(sys.stdin.readline())
for number, _ in enumerate(sys.stdin):
    answer = theirs.norm.answer(number)
    files = [module.__file__ for module in list(sys.modules.values()) if getattr(module, "__file__", None)]
    print(json.dumps(answer | {"files": files}), flush=True)
"""
Open = Callable[..., Worker]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """A worker of a commit whose package answers like this, in place of measuring."""
    (program := tmp_path / "program").mkdir()
    (program / "answers.py").write_text(ANSWERS)
    monkeypatch.setattr(worker, "MODULE", "answers")
    monkeypatch.setattr(worker, "PROGRAM", program)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    history = History(tmp_path / "repo")
    with ExitStack() as closing:

        def open_worker(answer: str, *, warm_up: bool = True) -> Worker:
            content = f"import os, sys, time\ndef answer(number):\n    return {answer}\n"
            commit = history.commit("measured", content)
            history.commit("of the checkout", "def answer(number):\n    return {'value': -1}\n")
            checkout = Checkout.at(history.folder)
            made = Worker(checkout, checkout.commit(commit), Request("s", "c", "m"), tmp_path / "w", warm_up=warm_up)
            return closing.enter_context(made)

        yield open_worker


def test_the_first_measurement_warms_up_and_nothing_is_left(opened: Open, tmp_path: Path) -> None:
    with opened("{'value': number}") as made:
        assert [made.measure(), made.measure()] == [1, 2]
        assert made.values == [1, 2]
        assert made._process is not None
        pid = made._process.pid
    assert not list((tmp_path / "w").iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_without_a_warm_up_the_first_measurement_counts(opened: Open) -> None:
    assert opened("{'value': number}", warm_up=False).measure() == 0


def test_the_commits_files_win_over_those_of_the_checkout(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "repo"))
    assert opened("{'value': 5}").measure() == 5


def test_the_process_has_a_home_and_a_database_of_its_own(opened: Open, tmp_path: Path, home: Path) -> None:
    made = opened("{'value': os.environ['NORMBENCH_DB'].startswith(os.environ['NORMBENCH_HOME'])}")
    assert made.measure() == 1
    assert not (home / "normbench.db").exists()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("{'error': 'no such layer'}", "^no such layer$"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("os._exit(3)", "its process ended without an answer"),
        ("{'value': float('nan')}", "the value is nan"),
        ("time.sleep(100)", "or was ended after 0 s"),
    ],
)
def test_a_commit_that_cannot_be_measured_says_why(
    opened: Open, monkeypatch: pytest.MonkeyPatch, answer: str, message: str
) -> None:
    monkeypatch.setattr(worker, "LONGEST", 0.4 if "sleep" in answer else 60.0)
    with pytest.raises(CannotMeasure, match=message):
        opened(answer).measure()


def test_code_of_the_checkout_in_place_of_the_commits_is_refused(opened: Open, tmp_path: Path) -> None:
    """As by an editable installation whose folder comes first."""
    installed = f"sys.path.insert(0, {str(tmp_path / 'repo' / 'theirs')!r})"
    with pytest.raises(UsageError, match="was imported in place of the commit's file"):
        opened(f"{{'value': 1, 'seen': ({installed}, __import__('norm'))[0]}}").measure()


def test_a_cell_that_uses_nothing_of_the_checkout_is_refused(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path / "repo")
    with pytest.raises(UsageError, match=r"the cell 'c' imports nothing of .*--repo"):
        worker.check_origin([os.__file__], checkout, tmp_path / "copy", Request("s", "c", "m"))


def test_folders_of_the_checkout_on_the_path_become_those_of_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "repo" / "lib"), "/elsewhere"]))
    found = worker.import_path(tmp_path / "copy", Checkout(tmp_path / "repo"), tmp_path / "copy")
    assert found == [
        *(str(tmp_path / "copy" / name) for name in ("", "src", "lib")),
        "/elsewhere",
        str(worker.PROGRAM),
    ]
