"""normbench nightly: what cron calls.  Sub-commands stand in files of their own (`nightly_*.py`)."""

from __future__ import annotations

import typer

app = typer.Typer(help="Measure a suite every night, and find regressions.", invoke_without_command=True)
