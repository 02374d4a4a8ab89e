"""The job that a scheduler must run to repeat this command line: arguments, folder and environment.

A scheduler starts with next to no environment: another PATH, often no HOME, none of the variables set in a shell.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from normbench_cli import paths
from normbench_cli.errors import UsageError
from normbench_cli.printable import masked, printable

KEPT = (  # what changes results, speed or the files that are found; none holds a secret
    *("PYTHONPATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "MKL_NUM_THREADS"),
    *("TORCHINDUCTOR_CACHE_DIR", "MPLCONFIGDIR"),
)
PROGRAMS = ("git", "cc")  # looked up on PATH: for the commit, for compiled kernels
USUAL = ("/usr/local/bin", "/usr/bin", "/bin")


@dataclass(frozen=True)
class Job:
    """words: the absolute path of the program, and its arguments.  folder: the working directory."""

    words: tuple[str, ...]
    folder: str
    environment: dict[str, str] = field(default_factory=dict)


def present_job(arguments: Sequence[str]) -> Job:
    """The job that runs this program with these arguments, in this folder and environment."""
    job = Job((*program(), *arguments), str(Path.cwd()), environment())
    for text in (*job.words, job.folder, *job.environment.values()):
        if masked(text) != text:
            what = "the URL of the database has a password, which others could read in the scheduler's file"
            raise UsageError(what, "put it into ~/.pgpass, and leave it out of the URL")
        if "\n" in text or "\t" in text or printable(text) != text:
            raise UsageError(
                f"{text!a} has a character that no crontab can hold", "use a path of letters, digits and signs"
            )
    return job


def program() -> list[str]:
    """How normbench was called: the script, or the interpreter with the package."""
    called = Path(sys.argv[0]).absolute()
    if called.name == "normbench" and os.access(called, os.X_OK):
        return [str(called)]
    return [sys.executable, "-m", "normbench_cli"]


def environment() -> dict[str, str]:
    """The environment variables that the program needs."""
    chosen = {name: value for name, value in os.environ.items() if name.startswith("NORMBENCH_") or name in KEPT}
    folders = {"NORMBENCH_HOME": paths.home()} | (
        {"NORMBENCH_DATA": paths.data_root()} if "NORMBENCH_DATA" in chosen else {}
    )
    return {"PATH": search_path(), **chosen, **{name: str(folder.absolute()) for name, folder in folders.items()}}


def search_path() -> str:
    found = [str(Path(place).parent) for name in PROGRAMS if (place := shutil.which(name))]
    return ":".join(dict.fromkeys([str(Path(sys.executable).parent), *found, *USUAL]))
