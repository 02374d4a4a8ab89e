"""A run records the commit of normbench's own source, and whether anything in the package was changed since."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import torch

import normbench_cli
from normbench_cli.experiments import environment as module
from normbench_cli.experiments.environment import environment, git_state


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package in a repository, committed."""
    folder = tmp_path / "project" / "package"
    (folder / "norms").mkdir(parents=True)
    for path in (folder / "__init__.py", folder / "norms" / "layer.py", folder.parent / "README"):
        path.write_text("committed\n")
    author = ["-c", "user.name=someone", "-c", "user.email=someone@example.org"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-C", str(folder.parent), *words], check=True)
    return folder


def test_a_change_in_any_folder_of_the_package_is_noticed(package: Path) -> None:
    sha, dirty = git_state(package)
    assert (len(sha), dirty) == (40, False)
    (package / "norms" / "layer.py").write_text("changed\n")
    assert git_state(package) == (sha, True)


def test_the_index_and_the_variables_of_another_repository_do_not_matter(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(package / "__init__.py", (0, 0))  # git would note the new time in the index
    index = package.parent / ".git" / "index"
    before, state = index.read_bytes(), git_state(package)
    monkeypatch.setenv("GIT_DIR", str(package / "nothing"))
    assert state[0]
    assert git_state(package) == state
    assert index.read_bytes() == before


def test_a_change_outside_of_the_package_does_not_count(package: Path) -> None:
    (package.parent / "README").write_text("changed\n")
    assert git_state(package)[1] is False


def test_an_installed_copy_has_no_commit(package: Path, tmp_path: Path) -> None:
    installed = package / "site-packages" / "normbench_cli"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    assert git_state(installed) == git_state(tmp_path) == ("", False)


def test_the_source_that_is_looked_at_is_the_whole_package(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[Path] = []

    def record(folder: Path) -> tuple[str, bool]:
        looked_at.append(folder)
        return "", False

    monkeypatch.setattr(module, "git_state", record)
    facts = environment(torch.device("cpu"))
    assert looked_at == [Path(normbench_cli.__file__).parent]
    assert {"torch", "numpy"} <= set(facts["versions"])
