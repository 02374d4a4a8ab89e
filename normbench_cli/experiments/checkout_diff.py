"""The uncommitted changes of normbench's own checkout, shortened: enough to know afterwards what code a run used."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from normbench_cli.git import run_git
from normbench_cli.registry.source_digest import DIGITS

MOST_CHARACTERS = 10_000


def checkout_diff(folder: Path) -> dict[str, Any] | None:
    """Return the diff of committed files, truncated if it is long, and the new files; None if git fails.

    digest: of all changes, including what is truncated.
    """
    try:
        with own_index(folder) as index:
            diff = git(folder, "diff", "HEAD", "--no-color", "--no-ext-diff", "--relative", "--", ".", **index)
            counted = git(folder, "diff", "HEAD", "--numstat", "--relative", "-z", "--", ".", **index)
        names = git(folder, "ls-files", "--others", "--exclude-standard", "-z", "--", ".").split(b"\0")
        new = {name.decode(errors="replace"): hash_of(folder, name) for name in names if name}
    except (OSError, subprocess.SubprocessError):
        return None
    numbers = counted.decode(errors="replace").split("\0")
    counts = [line.split("\t")[:2] for line in numbers if line.count("\t") == 2]
    text = diff.decode(errors="replace")
    return {
        "files": len(counts),
        "added": sum(int(added) for added, _ in counts if added.isdigit()),  # "-" for a binary file
        "removed": sum(int(removed) for _, removed in counts if removed.isdigit()),
        "new_files": new,
        "digest": hashlib.sha256(diff + repr(sorted(new.items())).encode()).hexdigest()[:DIGITS],
        "characters": len(text),
        "text": text[:MOST_CHARACTERS],
    }


def git(folder: Path, *words: str, **variables: str) -> bytes:
    return run_git(folder, *words, timeout=10, variables=variables).stdout


@contextmanager
def own_index(folder: Path) -> Iterator[dict[str, str]]:
    """The variable that makes git use a copy of the index: `git diff` would lock the index and write to it."""
    path = folder / os.fsdecode(git(folder, "rev-parse", "--git-path", "index").rstrip(b"\n"))
    with tempfile.TemporaryDirectory() as place:
        yield {"GIT_INDEX_FILE": str(shutil.copyfile(path, Path(place) / "index"))}


def hash_of(folder: Path, name: bytes) -> str:
    path = folder / name.decode(errors="surrogateescape")
    return hashlib.sha256(path.read_bytes()).hexdigest()[:DIGITS] if path.is_file() else ""
