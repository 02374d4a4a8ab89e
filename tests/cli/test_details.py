"""What a run was made of, as the commands show and check it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from normbench_cli.store import Store
from tests.datasets.made_files import write_fashion
from tests.support import TINY, RunCommand

WORDS = ("--data", "fashionmnist", "--model", "mlp:width=8", "--batch-size", "10", "--iterations", "1", "-q")
DIFF = {"files": 1, "added": 2, "removed": 0, "new_files": {}, "digest": "d", "characters": 5, "text": "+a\n+b"}


def test_a_run_is_made_of_its_data_and_its_remarks(
    normbench: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path / "first"))
    write_fashion(tmp_path / "first")
    (run,) = json.loads(normbench("train", *WORDS, "--json").out)["runs"]
    with Store.open() as store:
        store.add_details(run["id"], {"diff": DIFF, "remarks": ["one", "two"], "norm_layers": [{}, {}]})
    shown = normbench("runs", "show", run["id"]).out
    for words in (
        "data.source",
        str(tmp_path / "first"),
        "data.examples.train",
        "remark",
        "two",
        "1 file changed, +2 -0",
    ):
        assert words in shown
    (whole,) = json.loads(normbench("runs", "show", run["id"], "--json").out)["runs"]
    assert (whole["details"]["diff"], whole["details"]["data"]["classes"]) == (DIFF, 10)
    assert whole["fingerprint"] == run["fingerprint"]


def test_other_data_need_force(normbench: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, place in enumerate(("first", "second")):
        write_fashion(tmp_path / place, seed=seed)
    monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path / "first"))
    (run,) = json.loads(normbench("train", *WORDS, "--json").out)["runs"]
    monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path / "second"))
    refused = normbench("eval", run["id"])
    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert "--force" in refused.err
    forced = normbench("eval", run["id"], "--force", "--json")
    assert forced.code == 0
    assert json.loads(forced.out)["runs"][0]["fingerprint"] == run["fingerprint"]
    with Store.open() as store:
        store.end(run["id"], "interrupted")
    refused = normbench("train", "--resume", run["id"])
    assert (refused.code, "--force" in refused.err) == (1, True)
    assert normbench("train", "--resume", run["id"], "--force", "-q").code == 0


def test_a_grid_on_two_data_sets_of_one_name_has_two_cells_each(
    normbench: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = []
    for seed, place in enumerate(("first", "second", "first")):
        if seed < 2:
            write_fashion(tmp_path / place, seed=seed)
        monkeypatch.setenv("NORMBENCH_DATA", str(tmp_path / place))
        said.append(normbench("train", *WORDS, "--norm", "bn,none").out.splitlines()[-1].partition(" (")[0])
    assert said == ["2 new, 0 already finished", "2 new, 0 already finished", "0 new, 2 already finished"]


def test_an_edited_norm_is_one_new_cell(normbench: RunCommand, tmp_path: Path) -> None:
    said = []
    for body in ("return x", "return 2 * x", "return 2 * x"):
        lines = "from torch import nn\n\nclass Mine(nn.Module):\n    def __init__(self, num_features: int):\n"
        lines += f"        super().__init__()\n\n    def forward(self, x):\n        {body}\n"
        (tmp_path / "edited_norm.py").write_text(lines)
        said.append(normbench("train", *TINY, "--model", "mlp:size=8,width=8", "--norm", "none,edited_norm:Mine").out)
    assert [out.splitlines()[-1].partition(" (")[0] for out in said] == [
        "2 new, 0 already finished",
        "1 new, 1 already finished",
        "0 new, 2 already finished",
    ]


def test_force_is_for_runs_that_exist(normbench: RunCommand) -> None:
    ended = normbench("train", "--force")
    assert (ended.code, "--force is for --resume" in ended.err) == (2, True)
