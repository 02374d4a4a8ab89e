"""The processes that rank 0 starts on its machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress

from normbench_cli.device import core_share
from normbench_cli.errors import EXIT_ERROR
from normbench_cli.interrupts import interrupt_the_main_thread

START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from normbench_cli.experiments.distributed.worker import main; main()"
)
INTERVAL = 0.2  # seconds between two checks of the processes
NOTICE_SECONDS = 20.0  # if communication has not failed this long after a loss, this process is interrupted
EXIT_SECONDS = 20.0  # if it has not stopped this long after that, it exits


class Workers:
    """The processes of rank 1 and above.  They end with this process, and when one is lost, all of them end.

    size: the number of processes, this one included.  threads: of each process.  port: of the process group's store.
    """

    def __init__(self, size: int, port: int, threads: int) -> None:
        self._errors = [tempfile.TemporaryFile() for _ in range(1, size)]  # noqa: SIM115  closed with the processes
        self._size = size
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-c", START, json.dumps(sys.path), json.dumps([rank, size, port, threads])],
                stdin=subprocess.PIPE,
                stdout=errors,
                stderr=errors,
                env={**os.environ, **({} if "OMP_NUM_THREADS" in os.environ else core_share(threads))},
                start_new_session=True,  # Ctrl-C reaches this process, which stops them
            )
            for rank, errors in enumerate(self._errors, 1)
        ]
        self._stopping = threading.Event()
        self._watch = threading.Thread(target=self._end_all_with_one, daemon=True)
        self._watch.start()

    def lost(self, wait: float = 0.0) -> str:
        """How the first lost process ended; empty if none is lost within `wait` seconds."""
        until = time.monotonic() + wait
        while not (ended := self._ended()) and time.monotonic() < until:
            time.sleep(INTERVAL / 4)
        return min(ended, key=lambda end: end[0])[1] if ended else ""

    def _ended(self) -> list[tuple[bool, str]]:
        """For each lost process: whether it ended only because another one or this one did, and how it ended."""
        found = []
        for rank, (process, errors) in enumerate(zip(self._processes, self._errors, strict=True), 1):
            if process.poll() in (None, 0):
                continue
            errors.seek(0)
            lines = [line for line in errors.read().decode(errors="replace").splitlines() if line.strip()]
            code = process.returncode
            how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
            said = f": {lines[-1].strip()}" if lines and code > 0 else ""
            secondary = code == -signal.SIGTERM or (code == EXIT_ERROR and not lines)
            found.append((secondary, f"process {rank} of {self._size} {how}{said}"))
        return found

    def _end_all_with_one(self) -> None:
        while not self._stopping.wait(INTERVAL):
            if not self._ended():
                continue
            for process in self._processes:
                process.terminate()
            if self._stopping.wait(NOTICE_SECONDS):
                return
            interrupt_the_main_thread()
            if not self._stopping.wait(EXIT_SECONDS):  # it is blocked on an accelerator that waits for the others
                os.write(2, f"normbench: {self.lost()}\n".encode())
                os._exit(EXIT_ERROR)

    def stop(self, *, after: float = 0.0) -> None:
        """Kill the processes that have not ended after `after` seconds."""
        self._stopping.set()
        self._watch.join()
        until = time.monotonic() + after
        for process in self._processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, until - time.monotonic()))
            process.kill()
            process.wait()
            with suppress(OSError):
                if process.stdin is not None:
                    process.stdin.close()
        for errors in self._errors:
            errors.close()
