"""What pages are called: the pages of another night, and files of other people, stay."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from normbench_cli.nightly.pages.names import index_of, pages_in, stem_of

DAY = date(2026, 11, 19)


def page(folder: Path, stem: str, night: str) -> None:
    (folder / f"{stem}.md").write_text(f"# Night\n\n- night: {night}\n- suite: canary\n")


def test_the_first_night_of_a_day_has_its_date_and_the_others_a_number(tmp_path: Path) -> None:
    assert stem_of(tmp_path, DAY, "aaaaaaaa") == "nightly-2026-11-19"
    page(tmp_path, "nightly-2026-11-19", "aaaaaaaa")
    assert stem_of(tmp_path, DAY, "bbbbbbbb") == "nightly-2026-11-19-2"
    page(tmp_path, "nightly-2026-11-19-2", "bbbbbbbb")
    assert stem_of(tmp_path, DAY, "cccccccc") == "nightly-2026-11-19-3"
    assert pages_in(tmp_path) == {"aaaaaaaa": "nightly-2026-11-19", "bbbbbbbb": "nightly-2026-11-19-2"}


def test_a_night_keeps_its_name(tmp_path: Path) -> None:
    page(tmp_path, "nightly-2026-11-19", "aaaaaaaa")
    page(tmp_path, "nightly-2026-11-19-2", "bbbbbbbb")
    assert stem_of(tmp_path, DAY, "bbbbbbbb") == "nightly-2026-11-19-2"


@pytest.mark.parametrize("name", ["nightly-2026-11-19.md", "nightly-2026-11-19.html"])
def test_a_file_of_somebody_elses_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xff mine")
    assert stem_of(tmp_path, DAY, "aaaaaaaa") == "nightly-2026-11-19-2"


def test_so_is_an_index_of_somebody_elses(tmp_path: Path) -> None:
    assert index_of(tmp_path).name == "index.html"
    (tmp_path / "index.html").write_text("my photographs")
    assert index_of(tmp_path).name == "nightly.html"
