"""Interrupts: Ctrl-C, and SIGTERM of cron or a batch system, which ends a command in the same way.

The program ends at once (`quit_at_once`), except where something has to be put in order first: there an interrupt is
raised as KeyboardInterrupt (`raised`), and held back where work must not be left half done (`held_back`).  A Python
caller has no handler of ours: an interrupt is raised anywhere, and held back in the same places.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from normbench_cli.errors import EXIT_INTERRUPTED

SIGNALS = (signal.SIGINT, signal.SIGTERM)
MOMENT = 0.02  # seconds
Handler = Callable[[int, FrameType | None], object]


class Interrupted(KeyboardInterrupt):
    """An interrupt that says in one line what has become of the work, and how to continue it."""


def quit_at_once() -> None:
    """From here on an interrupt ends the process: nothing is recorded that would have to be put in order.

    Libraries that are being loaded, and C++ among them, do not always survive a KeyboardInterrupt.
    """
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            signal.signal(number, leave)


def leave(_number: int, _frame: FrameType | None) -> None:
    os.write(2, b"normbench: interrupted\n")
    os._exit(EXIT_INTERRUPTED)


@contextmanager
def raised() -> Iterator[None]:
    """In this block an interrupt is a KeyboardInterrupt, also where a script's background job began with it ignored."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with handled_by(stop), repeated_if_swallowed():
        yield


@contextmanager
def repeated_if_swallowed() -> Iterator[None]:
    """Python swallows an exception that is raised in a finalizer or in the callback of a weak reference, and calls
    `sys.unraisablehook`: an interrupt that came there comes again a moment later."""
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
    """Also while it waits: a signal raised in another thread would not end a sleep or a read of the main one."""
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


@contextmanager
def held_back() -> Iterator[None]:
    """An interrupt that comes in this block takes effect at its end."""
    came: list[int] = []
    try:
        with handled_by(lambda number, _frame: came.append(number)):
            yield
    finally:
        for number in came[:1]:
            signal.raise_signal(number)


@contextmanager
def ignored() -> Iterator[None]:
    """An interrupt that comes in this block is dropped: what it asks for is being done."""
    with handled_by(lambda _number, _frame: None):
        yield


@contextmanager
def handled_by(handler: Handler) -> Iterator[None]:
    """Both signals call this handler in the block.  Signals belong to the main thread: in another nothing changes."""
    before = {}
    try:
        for number in SIGNALS if threading.current_thread() is threading.main_thread() else ():
            before[number] = signal.getsignal(number)
            signal.signal(number, handler)
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, signal.SIG_DFL if previous is None else previous)
