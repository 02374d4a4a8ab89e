"""A job as a line of a crontab."""

from __future__ import annotations

import shlex

from normbench_cli.errors import UsageError
from normbench_cli.nightly.job import Job

TIME = "10 4 * * *"  # every night at 04:10; clocks change earlier
LONGEST = 998  # characters of a command that Debian's cron takes


def crontab_line(job: Job, time: str = TIME) -> str:
    """The line, as `crontab -e` takes it."""
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
    """A word for the shell, in which no backslash stands before another sign than a quote.

    cron reads the line first: to it, a backslash takes the meaning from a per cent sign or, in some versions, from
    another backslash.  Closing and opening the quotes between them means nothing to the shell.
    """
    return shlex.quote(word).replace("\\", "\\''")


def escape(command: str) -> str:
    """To cron a per cent sign ends the command; the rest would be its input."""
    return command.replace("%", "\\%")
