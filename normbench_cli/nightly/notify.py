"""Notification: a command of the user gets the verdict as JSON on stdin.

Its outcome never changes the night or its exit code.
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

TIMEOUT = 60.0  # seconds that the command may run
QUOTED = 200  # characters of the command's output


def notify(command: str, verdict: Mapping[str, Any], folder: Path, timeout: float = TIMEOUT) -> str:
    """Run the command in a shell with the verdict on stdin; return what went wrong as a sentence, empty if nothing did.

    folder: for the unnamed files of stdin and the output.  Files, because a pipe would make us wait for processes that
    the command leaves in the background.
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
    """Stop a command that is still running, and its process group."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def quoted(said: IO[bytes]) -> str:
    """The last line of the command's output."""
    said.seek(0)
    lines = said.read().decode(errors="replace").strip().splitlines()
    return f": {lines[-1].strip()[:QUOTED]}" if lines else ""
