"""The fuzzer notices what it is there for: broken rules, writes elsewhere, commands without end, lost rows."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from tests import damaging
from tests.fuzzing.kinds import Input
from tests.fuzzing.recorded import Before
from tests.fuzzing.rules import Ended, broken_rules
from tests.fuzzing.watching import TooLong, limited, watched


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A database, and the id of a run in it."""
    path = tmp_path_factory.mktemp("made") / "some.db"
    return path, damaging.make_database(path)[0]


FINE = Ended(0, "a table\n", "")


@pytest.mark.parametrize(
    ("words", "ended", "broken"),
    [
        (["report"], FINE, ""),
        (["report"], Ended(1, "", "normbench: no; do this\n"), ""),
        (["report"], Ended(1, "", "Traceback (most recent call last)\nnormbench: no\n"), "a traceback"),
        (["report"], Ended(1, "", "normbench: unexpected ValueError: x\n"), "normbench: unexpected ValueError: x"),
        (["report"], Ended(1, "", ""), "0 lines of error"),
        (["report"], Ended(139, "", "normbench: no\n"), "exit code 139"),
        (["report"], Ended(0, "", "x.py:1: FutureWarning: soon\n"), "a warning: x.py:1: FutureWarning: soon"),
        (["report"], Ended(0, "\x1b[31m", ""), "what a terminal obeys"),
        (["report", "--json"], FINE, "no JSON document: 'a table\\n'"),
        (["report", "--json"], Ended(0, "{}\n", ""), ""),
    ],
)
def test_broken_rules_are_noticed(words: list[str], ended: Ended, broken: str) -> None:
    assert broken_rules(words, ended) == ([broken] if broken else [])


def test_writes_elsewhere_are_refused_and_noted_unless_they_were_asked_for(tmp_path: Path) -> None:
    inside, named, outside = (tmp_path / name for name in ("inside", "named", "outside"))
    for folder in (inside, named, outside):
        folder.mkdir()
    with watched([inside], [named]) as noted:
        (inside / "file").write_text("fine")
        (outside / "file").exists()
        for folder in (named, outside):
            with pytest.raises(PermissionError):
                (folder / "file").write_text("not fine")
            with pytest.raises(PermissionError):
                (folder / "folder").mkdir()
        with pytest.raises(PermissionError):
            sqlite3.connect(f"{(outside / 'a b.db').as_uri()}?mode=rwc", uri=True)
        with pytest.raises(PermissionError):
            (inside / "file").rename(outside / "file")
    assert noted == [str(outside / name) for name in ("file", "folder", "a b.db", "file")]
    assert list(named.iterdir()) == list(outside.iterdir()) == []
    (outside / "file").write_text("nobody is watching")


@pytest.mark.parametrize("limit", ["cpu_seconds", "seconds"])
def test_what_does_not_end_is_ended(limit: str) -> None:
    with pytest.raises(TooLong, match="no end"), limited(**{limit: 0.05}):
        all(number >= 0 for number in count())


@pytest.mark.parametrize(
    ("words", "out", "statement", "missing"),
    [
        (["report"], "", "UPDATE runs SET note = 'new', state = 'failed'", 0),
        (["report"], "", "DELETE FROM metrics WHERE id = 3", 1),
        (["report"], "", "UPDATE metrics SET value = 0.25 WHERE id = 3", 1),
        (["report"], "", "UPDATE runs SET config = '{}' WHERE rowid = 1", 1),
        (["report"], "", "DELETE FROM night_values", 1),
        (["runs", "rm", "RUN"], "removed RUN", "DELETE FROM metrics WHERE run_id = 'RUN'", 0),
        (["runs", "rm", "RUN"], "removed nothing", "DELETE FROM metrics WHERE run_id = 'RUN'", 1),
        (["train", "--resume", "RUN"], "", "DELETE FROM metrics WHERE run_id = 'RUN' AND id > 3", 0),
        (["report"], "", "DROP TABLE samples", 5),
    ],
)
def test_lost_rows_are_noticed(
    made: tuple[Path, str], tmp_path: Path, words: list[str], out: str, statement: str, missing: int
) -> None:
    path, run = Path(shutil.copy(made[0], tmp_path)), made[1]
    before = Before(path, Input([]))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement.replace("RUN", run))
        connection.commit()
    lost = before.lost(path, [word.replace("RUN", run) for word in words], Ended(0, out.replace("RUN", run), ""))
    assert len(lost) == missing, lost
