"""Running git on a checkout that a person may be using at the same time."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

ANOTHER_REPOSITORY = {
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
}


def run_git(
    folder: Path,
    *words: str,
    check: bool = True,
    timeout: float | None = None,
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder.  Raises OSError or SubprocessError if it cannot be found, fails or takes too long.

    Variables that a hook or script has set for another repository are dropped.  `git status` does not lock the index; a
    lock could make a person's `git commit` fail.
    """
    own = {name: value for name, value in os.environ.items() if name not in ANOTHER_REPOSITORY}
    return subprocess.run(
        ["git", "-C", str(folder), "--no-optional-locks", *words],
        capture_output=True,
        check=check,
        timeout=timeout,
        env={**own, **(variables or {})},
    )
