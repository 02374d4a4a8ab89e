"""normbench reproduce: it runs what is left, says what it does, and compares; a second time nothing is run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from normbench_cli.cli._reproduction import stem_of
from normbench_cli.store import Store
from normbench_cli.store.queries import runs_frame
from normbench_cli.suites import Scale, select
from tests.support import RunCommand, recorded_in

MINE = """
title = "Two norms"
metric = "test/accuracy"
unit = "%"
seeds = "0-1"

[settings]
data = "digits:size=8"
model = "mlp:width=16,depth=2,size=8"
iterations = 2
batch_size = 32

[rows]
clean = {}
attacked = { metric = "test/accuracy@bim:steps=2" }

[columns]
BN = { norm = "batchnorm" }
POP = { norm = "popnorm" }

[published.clean]
BN = { value = 97.0, sd = 0.2 }
POP = 98.0
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "mine.toml").write_text(MINE)
    return "mine.toml"


@pytest.mark.parametrize(
    ("asked", "stem"),
    [
        (["popnorm/table1"], "reproduce-popnorm-table1-short"),
        (["popnorm"], "reproduce-popnorm-short"),
        (["augnorm-vision/table2", "augnorm-vision/table4"], "reproduce-augnorm-vision-table2-table4-short"),
        (["popnorm/table1", "interpretations"], "reproduce-suites-short"),
    ],
)
def test_a_report_is_named_after_its_suites(asked: list[str], stem: str) -> None:
    assert stem_of(select(asked), Scale("short")) == stem


def rows_in_database() -> list[tuple[str, ...]]:
    with Store.open(write=False) as store:
        frame = runs_frame(store)
    return sorted(zip(frame["fingerprint"], frame["id"], frame["status"], strict=True))


def test_a_suite_is_run_once_and_compared(normbench: RunCommand, mine: str, tmp_path: Path) -> None:
    first = normbench("reproduce", mine, "--scale", "full", "--format", "md")
    assert first.code == 0, first.err
    assert "0 of 4 runs are recorded; 4 are left, about" in first.err
    assert "97.00" in first.out
    report = (tmp_path / "reports" / "reproduce-mine-full.md").read_text()
    assert "mine: Two norms" in report
    before = rows_in_database()
    again = normbench("reproduce", mine, "--scale", "full", "--json")
    told = json.loads(again.out)
    assert again.code == 0
    assert "4 of 4 runs are recorded" in again.err
    assert [cell["n"] for cell in told["cells"]] == [2, 2, 2, 2]
    assert all(cell["faithful"] for cell in told["cells"])
    assert told["cells"][0]["difference"] == pytest.approx(told["cells"][0]["ours"] - 97)
    assert told["missing"] == []
    assert rows_in_database() == before


def test_without_news_the_report_is_not_written_again(normbench: RunCommand, mine: str, tmp_path: Path) -> None:
    words = ["reproduce", mine, "--scale", "smoke"]
    assert "written: " in normbench(*words).err
    assert "nothing new: " in normbench(*words).err
    assert "written: " in normbench(*words, "--format", "csv").err
    assert {path.suffix for path in (tmp_path / "reports").glob("*smoke*")} == {".md", ".csv"}


def test_a_dry_run_says_what_would_run(normbench: RunCommand, mine: str, home: Path) -> None:
    ended = normbench("reproduce", mine, "--scale", "full", "--dry-run")
    assert ended.code == 0
    assert ended.out.splitlines()[0].split("  ")[0] == "suite"
    assert "4 are left, about" in ended.out
    assert recorded_in(home) == []


def test_a_short_schedule_is_kept_for_the_same_budget(normbench: RunCommand, mine: str) -> None:
    words = ["reproduce", mine, "--scale", "short", "--budget", "60s", "--seeds", "3", "--json"]
    first = json.loads(normbench(*words).out)
    assert [run["left"] for run in first["runs"]] == ["", ""]
    assert {cell["n"] for cell in first["cells"]} == {1}
    second = normbench(*words)
    assert json.loads(second.out)["fraction"] == first["fraction"]
    assert "2 of 2 runs are recorded" in second.err


def test_what_cannot_be_run_is_said_and_the_rest_is_run(
    normbench: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The data sets of one column are missing."""
    monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path / "none"))
    columns = '[columns]\nBN = {}\ngone = { data = "folder:path=gone", model = "resnet20" }\n'
    text = MINE[: MINE.index("[columns]")] + columns
    (tmp_path / "half.toml").write_text(text.replace('seeds = "0-1"', 'seeds = "0"'))
    ended = normbench("reproduce", "half.toml", "--scale", "full")
    assert ended.code == 5
    assert "1 run cannot be made: " in ended.err
    assert "2 values are missing: " in ended.err
    assert [status for _, _, status in rows_in_database()] == ["finished"]


def test_nothing_to_measure_has_its_own_exit_code(normbench: RunCommand, tmp_path: Path) -> None:
    text = MINE.replace('"digits:size=8"', '"folder:path=gone"').replace('"mlp:width=16,depth=2,size=8"', '"resnet20"')
    (tmp_path / "gone.toml").write_text(text)
    ended = normbench("reproduce", "gone.toml", "--scale", "full")
    assert (ended.code, ended.out) == (4, "")
    assert "no cell could be run: " in ended.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["popnorm/tabel1"], "did you mean 'popnorm/table1'"),
        (["all", "--scale", "ful"], "--scale ful is not a scale; did you mean 'full'"),
        (["all", "--scale", "full", "--budget", "2h"], "--budget applies only to --scale short"),
        (["all", "--budget", "2x"], "--budget 2x is not a time; write 90s, 30m or 2h"),
        (["all", "--budget", "nanh"], "--budget nanh is not a time"),
        (["all", "--seeds", "x"], "seeds 'x' are not whole numbers"),
        (["all", "--format", "pdf"], "--format pdf is not"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_one_line(normbench: RunCommand, home: Path, words: list[str], message: str) -> None:
    ended = normbench("reproduce", *words)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert recorded_in(home) == []


def test_pruned_networks_are_cells_and_a_question_is_answered(normbench: RunCommand, tmp_path: Path) -> None:
    text = MINE[: MINE.index("[rows]")].replace('seeds = "0-1"', 'seeds = "0"') + (
        '[question]\ntext = "Which is best?"\nequal = "all"\nalong = "share"\n'
        '[rows]\nBN = { norm = "batchnorm" }\nLN = { norm = "layernorm" }\n'
        "[columns]\nwhole = {}\nall = { at = 1 }\nhalf = { at = 0.5 }\n"
    ).replace("{ at", '{ metric = "test/accuracy@prune:by=gamma,keep={at}", at')
    (tmp_path / "pruned.toml").write_text(text)
    told = json.loads(normbench("reproduce", "pruned.toml", "--scale", "full", "--json").out)
    ours = {(cell["row"], cell["column"]): cell["ours"] for cell in told["cells"]}
    assert [ours[row, "all"] for row in ("BN", "LN")] == [ours[row, "whole"] for row in ("BN", "LN")]
    assert [run["left"] for run in told["runs"]] == ["", ""]
    assert [answer["where"] for answer in told["answers"]] == ["whole", "all", "half", "mean over all of these"]
    assert told["answers"][-1]["answer"].startswith("Undecided: with 1 comparison it takes at least 6 seeds, and")
