"""Data sets and norms of one's own are part of a run's identity: what they hold, and the file that defines them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import normbench_cli as nb
from normbench_cli import build
from normbench_cli.axes.experiment import make_experiment
from normbench_cli.errors import UsageError
from normbench_cli.experiments.identity import fingerprints
from normbench_cli.experiments.plan import plan_grid
from normbench_cli.experiments.result import RunResult
from tests.support import recorded_details

STRIPES = '''
"""Stripes."""
import torch
from normbench_cli.datasets import InMemoryImages, Split

def stripes(value: int = 1) -> InMemoryImages:
    split = Split(torch.full((40, 1, 8, 8), value, dtype=torch.uint8), torch.arange(40) % 2)
    return InMemoryImages(split, split, classes=2, mean=(0.5,), std=(0.5,))
'''


def test_data_of_ones_own_count_by_what_they_hold(tmp_path: Path) -> None:
    (tmp_path / "stripes_of_mine.py").write_text(STRIPES)
    (config,) = make_experiment({"data": "stripes_of_mine:stripes", "model": "mlp:size=8,width=8"}).configs()
    assert fingerprints([config]) == fingerprints([config]) != [config.fingerprint()]
    digests = [build.loaded_data(f"stripes_of_mine:stripes:value={value}").digest for value in (2, 3)]
    assert digests[0] != digests[1]
    assert build.loaded_data("stripes_of_mine:stripes").describe()["source"] == "memory"


def test_data_of_ones_own_may_name_their_files(tmp_path: Path) -> None:
    listing = "from pathlib import Path\n\ndef files(**_):\n    return [Path('pixels.bin')]\n"
    (tmp_path / "places_of_mine.py").write_text(listing)
    registered = '@DATASETS.register("mine", files="places_of_mine:files")\ndef stripes'
    module = STRIPES.replace("def stripes", registered).replace("import InMemory", "import DATASETS, InMemory", 1)
    (tmp_path / "named_files.py").write_text(module)
    (config,) = make_experiment({"data": "named_files:stripes", "model": "mlp:size=8,width=8"}).configs()
    found: list[str] = []
    for content in (b"1", b"2"):
        (tmp_path / "pixels.bin").write_bytes(content)
        found += fingerprints([config])
    assert found[0] != found[1]


NORM = '''
"""A norm."""
from torch import Tensor, nn

class Scale(nn.Module):
    """Times a number."""

    def __init__(self, num_features: int) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        return x * {factor}
'''


def test_an_edited_norm_is_another_cell_and_the_edited_one_is_trained(tmp_path: Path, tiny: dict[str, Any]) -> None:
    file, found = tmp_path / "scale_of_mine.py", list[list[RunResult]]()
    axes = {"norm": ["none", "scale_of_mine:Scale"]}
    settings = {name: value for name, value in tiny.items() if name != "norm"}
    for factor, states in (("2.0", [True, True]), ("0.0", [False, True])):
        file.write_text(NORM.format(factor=factor) + "\n" * len(found))
        assert [cell.due for cell in plan_grid(make_experiment({**settings, **axes}).configs())] == states
        found.append(nb.train(norm=axes["norm"], **tiny))
    (none, before), (same, after) = found
    assert (none.id, none.fingerprint) == (same.id, same.fingerprint)
    assert before.metrics["train/loss"] != after.metrics["train/loss"]
    sources = [recorded_details(run)["sources"]["scale_of_mine:Scale"] for run in (before, after)]
    assert [source["file"] for source in sources] == [str(file)] * 2
    assert sources[0]["digest"] != sources[1]["digest"]
    assert "sources" not in recorded_details(none)
    notices: list[Any] = []
    nb.evaluate(before, on_event=notices.append)
    nb.evaluate(after, on_event=notices.append)
    (notice,) = notices
    assert notice.text == f"{file} has changed since run {before.id} began: scale_of_mine:Scale may not be the same"
    file.write_text("this is not Python")
    with pytest.raises(
        UsageError, match=r"scale_of_mine has changed and cannot be imported again \(.*\); fix the file"
    ):
        plan_grid([before.config])
