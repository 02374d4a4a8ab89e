"""The main function of a local worker: it prepares, then runs one task after another until its launcher ends."""

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
    """Read a preparation and then tasks from stdin, and write their outcomes to stdout."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output that a component prints must not mix with the answers
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
    """Receive messages.  When the launcher ends, this process ends at once, and its run counts as interrupted."""
    with os.fdopen(os.dup(0), "rb") as stream:
        while True:
            try:
                messages.put(read_frame(stream))
            except EOFError:
                os._exit(EXIT_INTERRUPTED)
