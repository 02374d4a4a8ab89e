"""A job as a crontab line."""

from __future__ import annotations

import shlex

from normbench_cli.errors import UsageError
from normbench_cli.nightly.job import Job

TIME = "10 4 * * *"  # every night at 04:10, after any DST change
LONGEST = 998  # characters of a command that Debian's cron accepts


def crontab_line(job: Job, time: str = TIME) -> str:
    """The line to add with `crontab -e`."""
    command = escape(shell_command(job))
    if len(command) > LONGEST:
        raise UsageError(
            f"the command for cron has {len(command)} characters, and {LONGEST} are the most that cron takes",
            "use shorter paths, or a script of your own with the command",
        )
    return f"{time} {command}"


def shell_command(job: Job) -> str:
    """``cd FOLDER && NAME=VALUE ... PROGRAM ...`` for any POSIX shell, whatever the environment is."""
    variables = [f"{name}={quote(value)}" for name, value in job.environment.items()]
    return f"cd {quote(job.folder)} && {' '.join([*variables, *map(quote, job.words)])}"


def quote(word: str) -> str:
    """Quote a word for the shell, with no backslash before anything but a quote.

    cron reads the line first: to cron, a backslash escapes a per cent sign or, in some versions, another backslash.
    Closing and opening the quotes between them means nothing to the shell.
    """
    return shlex.quote(word).replace("\\", "\\''")


def escape(command: str) -> str:
    """Escape per cent signs: to cron, one ends the command and the rest is its input."""
    return command.replace("%", "\\%")
