"""Interrupts: Ctrl-C, and SIGTERM from cron or a batch system, which is handled the same way.

The program exits immediately (`quit_at_once`), except where it has to clean up first: there an interrupt raises
KeyboardInterrupt (`raised`), and it is deferred where work must not be left half done (`held_back`).  When called from
Python, no handler is installed: an interrupt may be raised anywhere, and is deferred in the same places.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType
from typing import Any

from normbench_cli.errors import EXIT_INTERRUPTED

SIGNALS = (signal.SIGINT, signal.SIGTERM)
MOMENT = 0.02  # seconds
Handler = Callable[[int, FrameType | None], object]


class Interrupted(KeyboardInterrupt):
    """An interrupt that says in one line what happened to the work, and how to continue it."""


def quit_at_once() -> None:
    """From here on an interrupt ends the process immediately, as there is nothing to clean up.

    Libraries, especially in C++, do not always survive a KeyboardInterrupt while they are loaded.
    """
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            signal.signal(number, leave)


def leave(_number: int, _frame: FrameType | None) -> None:
    os.write(2, b"normbench: interrupted\n")
    os._exit(EXIT_INTERRUPTED)


def exit_if_interrupted(code: object) -> None:
    """End the process immediately if this is the exit code of an interrupted command.

    Python's own exit waits for the threads of every pool.  Inductor's would first compile all kernels in its queue,
    which takes minutes.
    """
    if code == EXIT_INTERRUPTED:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # closed, or its reader has gone
                stream.flush()
        os._exit(EXIT_INTERRUPTED)


@contextmanager
def raised() -> Iterator[None]:
    """Raise KeyboardInterrupt for an interrupt in this block, even if the process was started with SIGINT ignored, as
    background jobs of scripts are."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with handled_by(stop), repeated_if_swallowed():
        yield


@contextmanager
def repeated_if_swallowed() -> Iterator[None]:
    """Repeat an interrupt a moment later if Python swallowed it, as it does with exceptions in finalizers and weak
    reference callbacks, for which it only calls `sys.unraisablehook`."""
    before = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            threading.Timer(MOMENT, interrupt_the_main_thread).start()
        else:
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def interrupt_the_main_thread() -> None:
    """Signal the main thread itself: a signal raised in another thread would not end its sleep or read."""
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


@contextmanager
def held_back() -> Iterator[None]:
    """Defer an interrupt in this block until its end."""
    came: list[int] = []
    try:
        with handled_by(lambda number, _frame: came.append(number)):
            yield
    finally:
        for number in came[:1]:
            signal.raise_signal(number)


@contextmanager
def ignored() -> Iterator[None]:
    """Ignore an interrupt in this block, because the program is stopping already."""
    with handled_by(lambda _number, _frame: None):
        yield


@contextmanager
def unchanged() -> Iterator[None]:
    """Restore the signal handlers at the end of this block, where a library may replace them."""
    with ExitStack() as restored:
        for number in SIGNALS if threading.current_thread() is threading.main_thread() else ():
            restored.callback(signal.signal, number, signal.getsignal(number) or signal.SIG_DFL)
        yield


@contextmanager
def handled_by(handler: Handler) -> Iterator[None]:
    """Handle both signals with this handler in the block.  No effect outside the main thread, which owns signals."""
    before = {}
    try:
        for number in SIGNALS if threading.current_thread() is threading.main_thread() else ():
            before[number] = signal.getsignal(number)
            signal.signal(number, handler)
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, signal.SIG_DFL if previous is None else previous)
