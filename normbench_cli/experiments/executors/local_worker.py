"""What a process of the local executor does: it prepares, then takes one task after the other, until its launcher is
gone."""

from __future__ import annotations

import os
import pickle
import queue
import threading
from typing import NoReturn

from normbench_cli import interrupts
from normbench_cli.errors import EXIT_INTERRUPTED
from normbench_cli.experiments.executors.frames import read_frame, write_frame
from normbench_cli.experiments.executors.worker import run_task


def main() -> NoReturn:
    """Read a preparation and tasks from stdin, and write what becomes of the tasks to stdout."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a component prints is no answer
    messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=receive, args=(messages,), daemon=True).start()
    pickle.loads(messages.get()).prepare()  # an interrupt ends it at once: nothing is recorded yet
    try:
        with interrupts.raised():
            while True:
                write_frame(answers, pickle.dumps(run_task(pickle.loads(messages.get()))))
    except KeyboardInterrupt:
        os._exit(EXIT_INTERRUPTED)


def receive(messages: queue.SimpleQueue[bytes]) -> NoReturn:
    """Take what comes.  When nothing more can come the process ends at once, whatever it does: its run then counts as
    interrupted."""
    with os.fdopen(os.dup(0), "rb") as stream:
        while True:
            try:
                messages.put(read_frame(stream))
            except EOFError:
                os._exit(EXIT_INTERRUPTED)
