"""Interrupts that come where Python swallows exceptions."""

from __future__ import annotations

import signal
import sys
import time
import weakref
from collections.abc import Callable

import pytest

from normbench_cli import interrupts


class Finalized:
    def __del__(self) -> None:
        signal.raise_signal(signal.SIGTERM)


def interrupt_a_finalizer() -> None:
    Finalized()


def interrupt_a_callback() -> None:
    target = interrupts.Interrupted()
    reference = weakref.ref(target, lambda _: signal.raise_signal(signal.SIGINT))
    del target
    assert reference() is None


@pytest.mark.parametrize("interrupt", [interrupt_a_finalizer, interrupt_a_callback])
def test_an_interrupt_that_python_swallows_comes_again(interrupt: Callable[[], None]) -> None:
    def stop() -> None:
        with interrupts.raised():
            interrupt()
            time.sleep(20)

    before, began = sys.unraisablehook, time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        stop()
    assert time.monotonic() - began < 15, "it came after the wait"
    assert sys.unraisablehook is before
