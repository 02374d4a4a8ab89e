"""The page about nights: its suite is one."""

from __future__ import annotations

import re
from pathlib import Path

from normbench_cli.nightly.suite import read_suite

TEXT = (Path(__file__).parents[2] / "normbench_cli" / "docs" / "nightly.md").read_text()


def test_the_suite_of_ones_own_is_read(tmp_path: Path) -> None:
    (code,) = re.findall(r"```toml\n(.*?)```", TEXT, re.S)
    (tmp_path / "mine.toml").write_text(code)
    suite = read_suite(str(tmp_path / "mine.toml"))
    assert suite.name == "mine"
    assert [cell.name for cell in suite.cells] == [
        "mlp/batchnorm",
        "mlp/popnorm",
        "layers/batchnorm",
        "layers/popnorm",
    ]
    assert suite.minimum_effects == {"time": 0.07}
