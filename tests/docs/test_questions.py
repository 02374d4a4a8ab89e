"""The page on the questions that papers leave open: its table is complete, its example works."""

from __future__ import annotations

import re
from pathlib import Path

from normbench_cli import suites

PAGE = Path(__file__).parents[2] / "normbench_cli" / "docs" / "questions.md"


def test_the_example_of_a_question_is_a_suite(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.S)
    rest = 'metric = "test/accuracy"\n[settings]\ndata = "digits:size=8"\nmodel = "mlp"\n[columns]\nall = {}\n'
    (tmp_path / "mine.toml").write_text(rest + example)
    found = suites.find(str(tmp_path / "mine.toml"))
    assert [cell.at for cell in found.cells] == [0, 0.9]
    assert found.question is not None


def test_the_table_of_suites_is_complete() -> None:
    listed = re.findall(r"^\| `(questions/[a-z-]+)`", PAGE.read_text(), re.M)
    assert sorted(listed) == [name for name in suites.names() if name.startswith("questions/")]
