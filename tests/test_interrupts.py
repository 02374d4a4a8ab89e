"""Interrupts that come where Python swallows exceptions."""

from __future__ import annotations

import signal
import sys
import time
import weakref

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
def test_an_interrupt_that_python_swallows_comes_again(interrupt: object) -> None:
    before = sys.unraisablehook
    assert callable(interrupt)
    with pytest.raises(KeyboardInterrupt), interrupts.raised():
        interrupt()
        time.sleep(10)
    assert sys.unraisablehook is before
