"""The output of ``nightly --print-cron``: a line for cron and units for systemd, ready to use."""

from __future__ import annotations

from normbench_cli.nightly import cron, systemd
from normbench_cli.nightly.job import Job

UNITS = "~/.config/systemd/user"


def schedule_json(job: Job) -> dict[str, str]:
    return {"crontab": cron.crontab_line(job), "service": systemd.service(job), "timer": systemd.timer()}


def schedule_text(job: Job) -> str:
    found = schedule_json(job)
    return "\n".join(
        [
            "# cron: add this line with `crontab -e`",
            found["crontab"],
            "",
            f"# systemd, in place of cron: {UNITS}/{systemd.NAME}.service",
            found["service"],
            f"# systemd: {UNITS}/{systemd.NAME}.timer, then `systemctl --user enable --now {systemd.NAME}.timer`",
            found["timer"].rstrip("\n"),
        ]
    )
