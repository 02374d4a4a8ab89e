"""The commits of a checkout, and copies of their files elsewhere.

git is only queried.  A copy is made through its own index, so neither the checkout nor its index, branches or worktrees
change, and no hook runs.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.git import run_git

SEPARATOR = "\x1f"


@dataclass(frozen=True)
class Commit:
    """date: the author date, 2026-01-31."""

    hash: str
    author: str
    date: str
    subject: str

    @property
    def short(self) -> str:
        return self.hash[:10]


@dataclass(frozen=True)
class Checkout:
    """top: the root folder.  inside: the path below it to the packages to measure."""

    top: Path
    inside: Path = Path()

    @classmethod
    def at(cls, folder: Path) -> Checkout:
        """The checkout that contains this folder."""
        do = "name a checkout with --repo"
        if not folder.is_dir():
            raise UsageError(f"there is no folder {folder}", do)
        done = git(folder, "rev-parse", "--show-toplevel", check=False)
        if done.returncode:
            raise UsageError(f"{folder} is not a git checkout", do)
        top = Path(done.stdout.rstrip("\n")).resolve()
        return cls(top, folder.resolve().relative_to(top))

    def commit(self, revision: str) -> Commit:
        """The commit that a hash, a tag, a branch or `HEAD~3` refers to."""
        form = f"--format=%H{SEPARATOR}%an{SEPARATOR}%as{SEPARATOR}%s"
        wrong = not revision or revision.startswith("-") or ".." in revision
        if not wrong:
            done = git(self.top, "log", "-1", "--no-show-signature", form, f"{revision}^{{commit}}", "--", check=False)
            wrong = bool(done.returncode)
        if wrong:
            raise UsageError(f"'{revision}' is not a commit of {self.top}", "see `git log --oneline`")
        return Commit(*done.stdout.rstrip("\n").split(SEPARATOR, 3))

    def between(self, good: Commit, bad: Commit) -> dict[str, list[str]]:
        """The commits that `bad` contains and `good` does not, each with its parents; ancestors come first."""
        if good.hash == bad.hash:
            raise UsageError(f"both ends are the commit {good.short}", "give two commits")
        if not self.contains(bad, good):
            reverse = self.contains(good, bad)
            do = "exchange them" if reverse else "give a common ancestor as --good (`git merge-base`)"
            raise UsageError(f"the good commit {good.short} is no ancestor of the bad one {bad.short}", do)
        words = ("rev-list", "--topo-order", "--reverse", "--parents", f"{good.hash}..{bad.hash}")
        lines = [line.split() for line in git(self.top, *words).stdout.splitlines()]
        return {commit: parents for commit, *parents in lines}

    def contains(self, commit: Commit, ancestor: Commit) -> bool:
        return git(self.top, "merge-base", "--is-ancestor", ancestor.hash, commit.hash, check=False).returncode == 0

    def copy(self, commit: Commit, folder: Path) -> Path:
        """Copy the files of a commit into a new folder; return where its packages are."""
        folder.mkdir(parents=True)
        index = {"GIT_INDEX_FILE": str(folder.with_name(folder.name + ".index"))}
        git(self.top, "read-tree", commit.hash, variables=index)
        git(self.top, "checkout-index", "--all", "--quiet", f"--prefix={folder}{os.sep}", variables=index)
        place = folder / self.inside
        place.mkdir(parents=True, exist_ok=True)  # the commit may be older than this folder
        return place


def git(
    folder: Path, *words: str, check: bool = True, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run git, and decode what it prints."""
    try:
        done = run_git(folder, *words, check=False, variables=variables)
    except FileNotFoundError as error:
        raise NormbenchError("git cannot be found", "install git") from error
    output, errors = (stream.decode(errors="replace") for stream in (done.stdout, done.stderr))
    if check and done.returncode:
        what = errors.strip().partition("\n")[0]
        raise NormbenchError(f"git {words[0]} failed in {folder}: {what}", "see whether `git fsck` finds damage")
    return subprocess.CompletedProcess(done.args, done.returncode, output, errors)
