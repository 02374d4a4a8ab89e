"""The units: read by the rules of systemd's manual, and by systemd itself where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.errors import UsageError
from normbench_cli.nightly.job import Job
from normbench_cli.nightly.systemd import quote, service, timer
from tests.nightly.test_cron import ODD, WORDS

WORD = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\s|$)|([^\s"\'\\]+)(?:\s|$)')


def read_words(text: str) -> list[str]:
    """The words of a value, as systemd.syntax(7) and systemd.unit(5) say: quotes, escapes, specifiers."""
    words, place = [], 0
    while place < len(text):
        found = WORD.match(text, place)
        assert found, text[place:]
        plain = found[2] if found[1] is None else re.sub(r"\\(.)", r"\1", found[1])
        assert "%" not in plain.replace("%%", "")
        words.append(plain.replace("%%", "%"))
        place = found.end()
    return words


@given(st.lists(WORDS, min_size=1))
def test_any_words_are_read_back(words: list[str]) -> None:
    assert read_words(" ".join(map(quote, words))) == words


def test_a_dollar_is_left_alone_by_a_colon_before_the_program() -> None:
    assert "\nExecStart=:/bin/echo $HOME" in service(Job(("/bin/echo", "$HOME"), "/"))


@pytest.mark.parametrize("folder", ["/a\\", "/a "])
def test_a_folder_that_systemd_would_read_as_another_is_refused(folder: str) -> None:
    with pytest.raises(UsageError, match="systemd cannot start in"):
        service(Job(("/bin/true",), folder))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_finds_no_fault_with_the_units(tmp_path: Path) -> None:
    job = Job((sys.executable, "-m", "normbench_cli", ODD), "/tmp", {"PATH": "/bin", "NORMBENCH_HOME": ODD})
    (tmp_path / "n.service").write_text(service(job))
    (tmp_path / "n.timer").write_text(timer())
    units = [str(tmp_path / "n.service"), str(tmp_path / "n.timer")]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, check=False
    )
    about = [line for line in (done.stdout + done.stderr).splitlines() if str(tmp_path) in line or "n.service" in line]
    assert (done.returncode, about) == (0, [])
