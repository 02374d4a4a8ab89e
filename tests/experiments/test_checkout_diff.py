"""The uncommitted changes of a checkout in short."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from normbench_cli.cli._details import diff_line
from normbench_cli.experiments import checkout_diff as module
from normbench_cli.experiments.checkout_diff import checkout_diff


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A package in a repository, with one committed file."""
    folder = tmp_path / "repository" / "package"
    folder.mkdir(parents=True)
    (folder / "norm.py").write_text("scale = 1\nshift = 0\n")
    for words in (
        "init -q",
        "add .",
        "-c user.name=n -c user.email=n@example.org -c commit.gpgsign=false commit -q -m one",
    ):
        subprocess.run(["git", "-C", str(folder.parent), *words.split()], check=True)
    return folder


def test_changes_and_new_files_are_counted_and_shown(checkout: Path) -> None:
    (checkout / "norm.py").write_text("scale = 2\nshift = 0\nrate = 1\n")
    (checkout / "new.py").write_text("more = 1\n")
    (checkout.parent / "outside.py").write_text("not part of the package\n")
    diff = checkout_diff(checkout)
    assert diff is not None
    assert (diff["files"], diff["added"], diff["removed"], list(diff["new_files"])) == (1, 2, 1, ["new.py"])
    assert "-scale = 1\n+scale = 2\n" in diff["text"]
    assert diff["characters"] == len(diff["text"])
    assert diff_line(diff) == f"1 file changed, +2 -1, new: new.py, digest {diff['digest']}"


def test_a_long_diff_is_cut_and_its_digest_is_that_of_the_whole(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_CHARACTERS", 100)
    found = []
    for last in ("a", "b"):
        (checkout / "norm.py").write_text("x\n" * 200 + last)
        diff = checkout_diff(checkout)
        assert diff is not None
        found.append(diff)
    assert [len(diff["text"]) for diff in found] == [100, 100]
    assert found[0]["digest"] != found[1]["digest"]
    assert diff_line(found[0]).endswith(f"(the text is cut after 100 of {found[0]['characters']:,} characters)")


def test_a_new_file_counts_by_its_bytes(checkout: Path) -> None:
    found = []
    for text in ("a", "b"):
        (checkout / "new.py").write_text(text)
        diff = checkout_diff(checkout)
        assert diff is not None
        found.append(diff["digest"])
    assert found[0] != found[1]


def test_the_index_and_the_variables_of_another_repository_do_not_matter(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout / "norm.py").write_text("scale = 2\n")
    (checkout / "same.py").write_text("")
    subprocess.run(["git", "-C", str(checkout), "add", "same.py"], check=True)
    os.utime(checkout / "same.py", (0, 0))  # git would note the new time in the index
    index = checkout.parent / ".git" / "index"
    before, diff = index.read_bytes(), checkout_diff(checkout)
    monkeypatch.setenv("GIT_DIR", str(checkout / "nothing"))
    assert diff is not None
    assert checkout_diff(checkout) == diff
    assert index.read_bytes() == before


def test_without_a_repository_there_is_no_diff(tmp_path: Path) -> None:
    assert checkout_diff(tmp_path) is None
