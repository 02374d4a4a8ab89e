"""Commands that draw keep matplotlib's list of fonts in the home, not in the user's own folders."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import RunCommand


@pytest.mark.parametrize(
    "words",
    [
        ["report", "--json"],
        ["compare", "seed=0", "seed=1", "--json"],
        ["reproduce", "mine.toml", "--json"],  # there is none to run, which is said later
    ],
    ids=lambda words: str(words[0]),
)
def test_the_list_of_fonts_is_in_the_home(
    normbench: RunCommand,
    enter: Callable[..., str],
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
) -> None:
    for seed in (0, 1):
        enter(0.5, seed=seed)
    (tmp_path / "mine.toml").write_text(
        'metric = "test/accuracy"\n[rows]\na = { data = "folder:path=gone" }\n[columns]\nb = {}\n'
    )
    monkeypatch.setenv("MPLCONFIGDIR", "")
    monkeypatch.delenv("MPLCONFIGDIR")
    normbench(*words)
    assert os.environ["MPLCONFIGDIR"] == str(home / "matplotlib")
