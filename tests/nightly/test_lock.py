"""One night at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from normbench_cli.nightly.lock import Locked, night_lock
from tests.nightly.support import FIRST

HOLD = (
    "import sys\nfrom datetime import datetime\nfrom normbench_cli.nightly.lock import night_lock\n"
    "with night_lock('canary', datetime(2026, 3, 1, 4, 10)):\n    print('held', flush=True)\n    sys.stdin.read()"
)


def holding() -> subprocess.Popen[bytes]:
    """Another process that holds the lock until its stdin is closed."""
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def test_a_second_process_learns_who_holds_the_lock_and_since_when() -> None:
    with holding() as process:
        with pytest.raises(Locked) as refused, night_lock("mine", FIRST):
            pass
        process.communicate(b"")
    text = str(refused.value)
    assert f"process {process.pid} on " in text
    assert "has been measuring canary since 2026-03-01 04:10" in text
    assert text.endswith("nothing was measured by this one")


def test_the_lock_of_a_killed_process_is_gone() -> None:
    with holding() as process:
        process.kill()
        process.wait()
        with night_lock("mine", FIRST):
            pass


def test_the_lock_is_free_after_the_night_also_if_it_failed(home: Path) -> None:
    with pytest.raises(ZeroDivisionError), night_lock("mine", FIRST):
        raise ZeroDivisionError
    with night_lock("mine", FIRST):
        assert str(os.getpid()) in (home / "nightly.lock").read_text()
    assert (home / "nightly.lock").read_text() == ""


@pytest.mark.parametrize("content", ["", "{", "3", '{"pid": []}', '{"pid": 3}'])
def test_whoever_holds_the_lock_need_not_have_said_so(home: Path, content: str) -> None:
    with night_lock("mine", FIRST):
        (home / "nightly.lock").write_text(content)
        with pytest.raises(Locked, match="another process is measuring a night"), night_lock("mine", FIRST):
            pass
