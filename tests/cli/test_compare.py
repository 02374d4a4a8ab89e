"""normbench compare: two runs or filters beside each other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import RunCommand

SIDES = ("norm=batchnorm", "norm=popnorm")


@pytest.fixture
def ten_seeds(enter: Callable[..., Any], fill_once: Callable[..., Any]) -> Any:
    """popnorm is better by about two per cent on every seed, and its last run diverged."""

    def make() -> dict[str, list[str]]:
        return {
            norm: [
                enter(0.5, 0.8 + seed / 100 + shift * (2 + seed % 3) / 100, norm=norm, seed=seed, batch_size=size,
                      status="diverged" if (norm, seed) == ("popnorm", 9) else "finished")
                for seed in range(10)
            ]
            for norm, shift, size in (("batchnorm", 0, 64), ("popnorm", 1, 128))
        }  # fmt: skip

    return fill_once(make)


def test_settings_metrics_and_what_n_cannot_support(normbench: RunCommand, ten_seeds: dict[str, list[str]]) -> None:
    ended = normbench("compare", *SIDES, "--metric", "test/accuracy")
    assert ended.code == 0, ended.err
    lines = [line.split() for line in ended.out.splitlines()]
    assert ended.out.startswith("A: norm=batchnorm (10 finished)\nB: norm=popnorm (9 finished, 1 diverged)\n")
    assert ["batch_size", "64", "128"] in lines
    assert ["norm", "batchnorm", "popnorm"] in lines
    (row,) = [line for line in lines if line[:1] == ["test/accuracy"]]
    assert " ".join(row[2:]).startswith("84.50 ± 3.03 (n=10) 87.00 ± 3.12 (n=9) +3.00 (n=9) +2.33 to +3.67")
    assert "1 pair with a diverged run left out" in ended.out
    assert not Path("reports").exists()


def test_json_is_one_document(normbench: RunCommand, ten_seeds: dict[str, list[str]]) -> None:
    document = json.loads(normbench("compare", *SIDES, "--json").out)
    assert document["a"] == {
        "given": "norm=batchnorm", "runs": document["a"]["runs"], "statuses": {"finished": 10}
    }  # fmt: skip
    assert sorted(document["b"]["runs"]) == sorted(ten_seeds["popnorm"])
    accuracy, loss = document["metrics"]
    assert (accuracy["metric"], loss["metric"]) == ("test/accuracy", "train/loss")
    assert accuracy["difference"]["n"] == 9
    assert accuracy["difference"]["difference"] == pytest.approx(0.03)
    assert accuracy["difference"]["p_permutation"] == pytest.approx(2**-8)
    assert accuracy["difference"]["p_holm"] == pytest.approx(2 * 2**-8)
    assert accuracy["difference"]["diverged"] == 1
    assert loss["difference"]["difference"] == 0
    assert document["paired_by"] == ["seed"]


def test_two_runs_by_their_ids(normbench: RunCommand, ten_seeds: dict[str, list[str]]) -> None:
    a, b = ten_seeds["batchnorm"][0], ten_seeds["popnorm"][0]
    ended = normbench("compare", a[:6], b)
    assert ended.code == 0, ended.err
    assert f"B: {b} (1 finished: {b})" in ended.out
    assert "+2.00 (n=1)" in ended.out
    assert "One pair has no spread: no interval, no test." in ended.out


def test_files_with_overlaid_curves(normbench: RunCommand, ten_seeds: dict[str, list[str]], tmp_path: Path) -> None:
    ended = normbench("compare", *SIDES, "--format", "md,html,csv", "--out", "there")
    assert ended.code == 0, ended.err
    names = {path.name for path in (tmp_path / "there").iterdir()}
    assert {"compare.md", "compare.html", "compare.csv", "compare-test_accuracy.svg"} <= names
    drawn = (tmp_path / "there" / "compare-test_accuracy.csv").read_text()
    assert "A: norm=batchnorm" in drawn
    assert "B: norm=popnorm" in drawn
    assert "p_permutation" in (tmp_path / "there" / "compare.csv").read_text()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["norm=batchnorm", "norm=layernorm"], 4, "no run matches 'norm=layernorm'"),
        (["norm=batchnorm", "act=relu"], 2, "is on both sides"),
        (["norm=batchnorm", "popnorm"], 1, "'popnorm' is not a run's id"),
        (["norm=batchnorm", "nrm=popnorm"], 2, "norm"),
        (["norm=batchnorm", "norm=popnorm", "--metric", "test/acc"], 4, "test/accuracy"),
        (["norm=batchnorm", "norm=popnorm", "--kind", "profle"], 2, "did you mean 'profile'"),
        (["norm=batchnorm", "norm=popnorm", "--kind", "profile"], 4, "no runs of one kind in common, only train"),
        (["norm=batchnorm", "norm=popnorm", "--format", "pdf"], 2, "pdf"),
        (["norm=batchnorm", "norm=popnorm", "--db", "none.db"], 4, "no database"),
        (["norm=batchnorm", "norm=gn"], 4, "side B ('norm=gn') has measured nothing to compare (1 failed)"),
    ],
    ids=lambda value: " ".join(value[1:]) if isinstance(value, list) else "",
)
def test_what_cannot_be_compared_is_a_one_line_error(
    normbench: RunCommand, ten_seeds: None, enter: Callable[..., Any], words: list[str], code: int, says: str
) -> None:
    enter(0.5, norm="groupnorm", status="failed", act="tanh")
    ended = normbench("compare", *words)
    assert (ended.code, ended.out, ended.err.count("\n")) == (code, "", 1)
    assert says in ended.err
