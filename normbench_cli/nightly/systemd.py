"""A job as a systemd service and timer."""

from __future__ import annotations

from normbench_cli.errors import UsageError
from normbench_cli.nightly.job import Job

NAME = "normbench-nightly"
TIME = "*-*-* 04:10:00"


def service(job: Job) -> str:
    """The unit that runs one night."""
    if job.folder.endswith(("\\", " ")):
        raise UsageError(f"systemd cannot start in {job.folder!r}", "rename the folder, or run the command in another")
    colon = ":" if any("$" in word for word in job.words) else ""  # keeps systemd from expanding $
    program, *arguments = job.words
    lines = [
        "[Unit]",
        "Description=normbench nightly benchmark",
        "",
        "[Service]",
        "Type=oneshot",
        f"WorkingDirectory={job.folder.replace('%', '%%')}",
        *(f"Environment={quote(f'{name}={value}')}" for name, value in job.environment.items()),
        f"ExecStart={' '.join(map(quote, [colon + program, *arguments]))}",
    ]
    return "\n".join(lines) + "\n"


def timer() -> str:
    """The unit that starts the service every night; a missed night is caught up on."""
    lines = [
        "[Unit]",
        "Description=normbench nightly benchmark, every night",
        "",
        "[Timer]",
        f"OnCalendar={TIME}",
        "Persistent=true",
        "",
        "[Install]",
        "WantedBy=timers.target",
    ]
    return "\n".join(lines) + "\n"


def quote(word: str) -> str:
    """Quote a word of a unit file: double quotes with C escapes; %% is a per cent sign."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{text}"' if set(text) & set(" \"'\\;") or not text else text
