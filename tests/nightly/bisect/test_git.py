"""Commits are found and copied; the repository that they come from does not change."""

from __future__ import annotations

from pathlib import Path

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.nightly.bisect.git import Checkout
from tests.nightly.bisect.histories import History, make_history


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[History, list[str]]:
    return make_history(tmp_path_factory.mktemp("git") / "repo", lambda number: f"{number}\n")


def test_the_commits_between_two_are_listed_ancestors_first(made: tuple[History, list[str]]) -> None:
    history, hashes = made
    checkout = Checkout.at(history.folder)
    parents = checkout.between(checkout.commit(hashes[0]), checkout.commit("main"))
    assert len(parents) == 13, "twelve and a merge"
    assert list(parents)[-1] == hashes[-1]
    known = {hashes[0]}
    for commit, before in parents.items():
        assert set(before) <= known
        known.add(commit)


def test_a_commit_is_what_git_shows_of_it(made: tuple[History, list[str]]) -> None:
    history, hashes = made
    commit = Checkout.at(history.folder / "theirs").commit("HEAD~1")
    assert (commit.hash, commit.author, commit.subject) == (hashes[11], "A. Author", "commit 11")
    assert len(commit.date) == 10


@pytest.mark.parametrize("revision", ["", "nowhere", "--all", "HEAD~3..HEAD", "-n1", "HEAD:theirs"])
def test_what_is_no_commit_is_refused(made: tuple[History, list[str]], revision: str) -> None:
    with pytest.raises(UsageError, match="is not a commit of"):
        Checkout.at(made[0].folder).commit(revision)


def test_a_copy_has_the_files_of_its_commit_and_the_repository_stays_as_it_is(
    made: tuple[History, list[str]], tmp_path: Path
) -> None:
    history, hashes = made
    (history.folder / "theirs" / "norm.py").write_text("not committed\n")
    before = history.state()
    checkout = Checkout.at(history.folder / "theirs")
    place = checkout.copy(checkout.commit(hashes[2]), tmp_path / "copy")
    assert place == tmp_path / "copy" / "theirs"
    assert (place / "norm.py").read_text() == "# commit 2\n2\n"
    assert history.state() == before
    history.git("checkout", "--quiet", "theirs")


def test_variables_of_another_repository_do_not_count(
    made: tuple[History, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nothing"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert Checkout.at(made[0].folder).commit(made[1][3]).subject == "commit 3"


def test_ends_in_the_wrong_order_are_refused(made: tuple[History, list[str]]) -> None:
    checkout = Checkout.at(made[0].folder)
    old, new = checkout.commit(made[1][1]), checkout.commit(made[1][9])
    with pytest.raises(UsageError, match="exchange them"):
        checkout.between(new, old)
    with pytest.raises(UsageError, match="both ends are the commit"):
        checkout.between(old, old)


def test_a_folder_without_a_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a git checkout; name a checkout with --repo"):
        Checkout.at(tmp_path)
    with pytest.raises(UsageError, match="there is no folder"):
        Checkout.at(tmp_path / "missing")
