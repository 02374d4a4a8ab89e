"""The line for cron: what cron makes of it and what the shell then runs, by rules written down here, and by a shell."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.errors import UsageError
from normbench_cli.nightly.cron import LONGEST, TIME, crontab_line, shell_command
from normbench_cli.nightly.job import Job

WORDS = st.text(st.sampled_from("ab0 %\\'\"$`!#&;|<>*?[]{}()~=+-./,:@^_é€語"), max_size=20)
ODD = """100% of "it's" $HOME `id` \\% \\\\ a\\b ; & é #~"""


def after_cron(command: str, backslashes: bool) -> str:
    """What cron hands to the shell.  backslashes: whether this cron also takes two of them for one."""
    handed, place = "", 0
    while place < len(command):
        sign, following = command[place], command[place + 1 : place + 2]
        if sign == "\\" and (following == "%" or (backslashes and following == "\\")):
            handed, place = handed + following, place + 2
        elif sign == "\\":
            handed, place = handed + sign + following, place + 2
        elif sign == "%":
            return handed
        else:
            handed, place = handed + sign, place + 1
    return handed


@given(st.lists(WORDS, min_size=1), WORDS, WORDS, st.booleans())
def test_any_words_reach_the_program_as_they_are(words: list[str], folder: str, value: str, backslashes: bool) -> None:
    job = Job(tuple(words), f"/{folder}", {"NAME": value})
    try:
        line = crontab_line(job)
    except UsageError:
        assert len(shell_command(job)) > LONGEST / 2
        return
    command = after_cron(line.removeprefix(f"{TIME} "), backslashes)
    assert shlex.split(command) == ["cd", f"/{folder}", "&&", f"NAME={value}", *words]


def test_the_command_does_the_same_in_a_shell_without_an_environment(tmp_path: Path) -> None:
    folder = tmp_path / ODD.replace("/", "")
    folder.mkdir()
    code = "import os, sys; print([os.getcwd(), os.environ['NAME'], *sys.argv[1:]])"
    job = Job((sys.executable, "-c", code, ODD, ""), str(folder), {"NAME": ODD})
    handed = after_cron(crontab_line(job).removeprefix(f"{TIME} "), backslashes=False)
    done = subprocess.run(["env", "-i", "/bin/sh", "-c", handed], capture_output=True, text=True, cwd="/", check=True)
    assert done.stdout == f"{[str(folder), ODD, ODD, '']}\n"


def test_a_command_that_cron_would_cut_off_is_refused() -> None:
    with pytest.raises(UsageError, match="998 are the most"):
        crontab_line(Job(("normbench", "x" * LONGEST), "/"))


@pytest.mark.skipif(shutil.which("crontab") is None, reason="there is no crontab here")
def test_crontab_finds_no_fault_with_the_line(tmp_path: Path) -> None:
    table = tmp_path / "table"
    table.write_text(crontab_line(Job(("/bin/normbench", "nightly", ODD), "/a b", {"PATH": "/bin"})) + "\n")
    done = subprocess.run(["crontab", "-n", str(table)], capture_output=True, text=True, check=False)
    if "usage" in done.stderr:
        pytest.skip("this crontab cannot check a table without taking it over")
    assert done.returncode == 0, done.stderr
