"""A process that measures one cell with the code of one commit."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from normbench_cli import interrupts, paths
from normbench_cli.errors import UsageError
from normbench_cli.nightly.bisect.git import Checkout, Commit

MODULE = "normbench_cli.nightly.bisect.measure_one"
PROGRAM = Path(__file__).parents[3]  # where this normbench was imported from
LONGEST = 1800.0  # seconds for a measurement
SECONDS_TO_END = 5.0


class CannotMeasure(Exception):
    """This commit cannot measure the cell: something is missing or fails."""


@dataclass(frozen=True)
class Request:
    """What to measure.  suite: the name of a suite, or the path of its file, the same for all commits."""

    suite: str
    cell: str
    metric: str


class Worker:
    """The measuring process of a commit, started by its first measurement.

    Its home and database are its own; it shares the user's data sets and compiled kernels.  warm_up: discard the first
    measurement, which is slower than the others.
    """

    def __init__(
        self, checkout: Checkout, commit: Commit, request: Request, folder: Path, *, warm_up: bool = True
    ) -> None:
        self._warm_up = warm_up
        self.values: list[float] = []
        self._request, self._checkout, self._commit = request, checkout, commit
        self._folder = folder / commit.short
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def measure(self) -> float:
        """Measure the cell once more."""
        answer = self._first_answer() if self._process is None else self._ask()
        value = float(answer["value"])
        if not math.isfinite(value):
            raise CannotMeasure(f"the value is {value}")
        self.values.append(value)
        return value

    def _first_answer(self) -> dict[str, Any]:
        copy = self._folder / "files"
        self._process = self._start(self._checkout.copy(self._commit, copy))
        self._tell(asdict(self._request))
        answer = self._ask()
        check_origin(answer["files"], self._checkout, copy, self._request)
        return self._ask() if self._warm_up else answer

    def close(self) -> None:
        """End the process and remove its files."""
        with interrupts.held_back():
            if self._process is not None:
                end(self._process)
                self._process = None
            shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, files: Path) -> subprocess.Popen[str]:
        home = self._folder / "home"
        home.mkdir()
        for known in (paths.allowed_file(), paths.file_hashes()):
            if known.exists():
                shutil.copy(known, home)
        paths.set_compile_cache()
        variables = {
            "PYTHONPATH": os.pathsep.join(import_path(files, self._checkout, self._folder / "files")),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NORMBENCH_DATA": str(paths.data_root().absolute()),
            "NORMBENCH_HOME": str(home),
            "NORMBENCH_DB": str(home / "normbench.db"),
        }
        with (self._folder / "messages").open("w") as messages:
            return subprocess.Popen(
                [sys.executable, "-m", MODULE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=messages,
                text=True,
                cwd=files,  # components of the working folder can be imported, too
                env=os.environ | variables,
                start_new_session=True,  # an interrupt goes to the program, which then ends this process
            )

    def _tell(self, words: dict[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the missing answer reports it
            self._process.stdin.write(json.dumps(words) + "\n")
            self._process.stdin.flush()

    def _ask(self) -> dict[str, Any]:
        """Ask for a measurement and wait for the answer."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        self._tell({})
        limit = threading.Timer(LONGEST, process.kill)
        limit.start()
        try:
            line = process.stdout.readline()
        finally:
            limit.cancel()
        if not line:
            raise CannotMeasure(self._last_message())
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise CannotMeasure(answer["error"])
        return answer

    def _last_message(self) -> str:
        lines = (self._folder / "messages").read_text(errors="replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        said = said or [f"its process ended without an answer, or was ended after {LONGEST:.0f} s"]
        return said[-1][-200:]


def import_path(files: Path, checkout: Checkout, copy: Path) -> list[str]:
    """The import path of a commit's process: the commit's own files, also in `src`, then the user's path, with the
    checkout's folders replaced by the commit's."""
    users = [Path(entry).resolve() for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    exchanged = [
        copy / entry.relative_to(checkout.top) if entry.is_relative_to(checkout.top) else entry
        for entry in (*users, PROGRAM)
    ]
    return list(dict.fromkeys(map(str, [files, files / "src", *exchanged])))


def check_origin(loaded: Iterable[str], checkout: Checkout, copy: Path, request: Request) -> None:
    """Reject a measurement that uses none of the commit's files, or a file of the checkout instead of the commit's."""
    files = [Path(file).resolve() for file in loaded]
    copy = copy.resolve()
    for file in files:
        if file.is_relative_to(checkout.top) and (copy / file.relative_to(checkout.top)).exists():
            do = "remove that folder from Python's path (an editable installation puts it there)"
            raise UsageError(f"{file} was imported in place of the commit's file", do)
    if not any(file.is_relative_to(copy) for file in files):
        raise UsageError(
            f"the cell '{request.cell}' imports nothing of {checkout.top / checkout.inside}",
            "name with --repo the checkout whose code it measures",
        )


def end(process: subprocess.Popen[str]) -> None:
    """End a process and its process group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_END)
            break
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(BrokenPipeError):
                stream.close()
