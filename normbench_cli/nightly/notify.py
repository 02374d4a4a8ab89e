"""Telling somebody: a command of the user's gets the verdict as JSON on stdin.

Whatever becomes of it, the night and its exit code stay what they are.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

TIMEOUT = 60.0  # seconds that the command has
QUOTED = 200  # characters of what the command said


def notify(command: str, verdict: Mapping[str, Any], folder: Path, timeout: float = TIMEOUT) -> str:
    """Run the command in a shell with the verdict on stdin; a sentence on what went wrong, empty if nothing did.

    folder: where stdin and the output are kept while the command runs; these files have no name.  Files, because a pipe
    would make us wait for what the command leaves in the background.
    """
    try:
        with TemporaryFile(dir=folder) as given, TemporaryFile(dir=folder) as said:
            given.write(json.dumps(verdict, allow_nan=False).encode())
            given.seek(0)
            process = subprocess.Popen(
                command, shell=True, stdin=given, stdout=said, stderr=subprocess.STDOUT, start_new_session=True
            )
            return problem_of(process, timeout, said)
    except (OSError, ValueError) as error:  # no shell, no space, a null character
        return f"--notify could not run: {error}"


def problem_of(process: subprocess.Popen[bytes], timeout: float, said: IO[bytes]) -> str:
    try:
        code = process.wait(timeout)
    except subprocess.TimeoutExpired:
        return f"--notify was stopped after {timeout:g} s{quoted(said)}"
    finally:
        end_group(process)
    return f"--notify ended with exit code {code}{quoted(said)}" if code else ""


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Stop a command that is still running, with all that it has started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def quoted(said: IO[bytes]) -> str:
    """The last line that the command has written."""
    said.seek(0)
    lines = said.read().decode(errors="replace").strip().splitlines()
    return f": {lines[-1].strip()[:QUOTED]}" if lines else ""
