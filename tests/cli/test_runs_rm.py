"""normbench runs rm by age: what goes, what stays, what space comes back."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from normbench_cli.store import Store
from tests.editing import add_checkpoint, end_in_2020, query
from tests.store.make_old_database import make_database
from tests.support import RunCommand

Enter = Callable[..., str]


def test_old_runs_are_removed_with_their_checkpoints_and_the_best_of_each_configuration_stays(
    normbench: RunCommand, enter: Enter, home: Path
) -> None:
    worse, best = enter(0.5, seed=0), enter(0.9, seed=1)
    alone, new = enter(0.1, norm="popnorm"), enter(0.6, seed=2)
    failed = enter(status="failed")
    end_in_2020(home, worse, best, alone, failed)
    gone, kept = add_checkpoint(worse), add_checkpoint(best)
    planned = normbench("runs", "rm", "--older-than", "90d", "--keep-best", "--dry-run", "--json")
    assert {*json.loads(planned.out)["would_remove"]} == {worse, failed}
    assert {*json.loads(planned.out)["kept"]} == {best, alone}
    assert gone.exists()
    ended = normbench("runs", "rm", "--older-than", "90d", "--keep-best", "--yes")
    assert ended.code == 0
    assert "1,000 bytes of checkpoints" in ended.err
    assert {row[0] for row in query(home / "normbench.db", "SELECT id FROM runs")} == {best, alone, new}
    assert (gone.exists(), kept.exists()) == (False, True)
    assert "nothing to remove" in normbench("runs", "rm", "--older-than", "90d", "--keep-best").out


def test_the_best_is_the_lowest_of_a_metric_of_which_less_is_better(
    normbench: RunCommand, enter: Enter, home: Path
) -> None:
    lower, higher = enter(0.5, 0.5, seed=0, epochs=2), enter(0.9, seed=1, epochs=2)  # train/loss is 1 / epochs
    end_in_2020(home, lower, higher)
    words = ("--older-than", "1y", "--keep-best", "--metric", "train/loss", "--yes", "--json")
    assert json.loads(normbench("runs", "rm", *words).out)["removed"] == [higher]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "nothing says which runs"),
        (("abc", "--older-than", "90d"), "name runs or their age"),
        (("--older-than", "90"), "not an age"),
        (("--older-than", "9999999d"), "not an age"),
        (("--older-than", "999999d"), "above 100 years"),
        (("abc", "--keep-best"), "need --older-than"),
        (("--older-than", "1d", "--metric", "test/loss"), "add --keep-best"),
        (
            ("--older-than", "1d", "--keep-best", "--metric", "solver/iterations_mean"),
            "whether higher or lower is better",
        ),
    ],
)
def test_a_wrong_selection_is_a_usage_error(
    normbench: RunCommand, enter: Enter, words: tuple[str, ...], says: str
) -> None:
    enter(0.5)
    ended = normbench("runs", "rm", *words, "--yes")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert says in ended.err


def test_without_yes_json_cannot_ask(
    normbench: RunCommand, enter: Enter, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even on a terminal."""
    run_id = enter(0.5)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    ended = normbench("runs", "rm", run_id, "--json")
    assert (ended.code, ended.out) == (2, "")
    assert "needs a confirmation, which cannot be asked for here; confirm with --yes" in ended.err
    assert query(home / "normbench.db", "SELECT id FROM runs") == [(run_id,)]


def test_what_a_night_measured_outlives_its_run(normbench: RunCommand, home: Path) -> None:
    home.mkdir()
    make_database(home / "normbench.db")
    run_ids = [run_id for (run_id,) in query(home / "normbench.db", "SELECT id FROM runs")]
    assert normbench("runs", "rm", *run_ids, "--yes", "--force").code == 0
    assert query(home / "normbench.db", "SELECT count(*), count(run_id) FROM night_values") == [(24, 0)]
    assert "4 nights" in normbench("db", "check").out


def test_the_file_shrinks_when_much_is_removed(normbench: RunCommand, enter: Enter, home: Path) -> None:
    keep, large = enter(0.5), enter(0.6)
    with Store.open() as store:
        for step in range(1, 41):
            noise = [float(hash((step, n)) % 10**6) for n in range(20_000)]
            store.record(large, {}, step=20_000 * step, series={"lr": noise})
    before = (home / "normbench.db").stat().st_size
    freed = json.loads(normbench("runs", "rm", large, "--yes", "--json").out)["database_bytes"]
    assert before > 2**20
    assert freed > before / 2
    assert query(home / "normbench.db", "SELECT id FROM runs") == [(keep,)]
