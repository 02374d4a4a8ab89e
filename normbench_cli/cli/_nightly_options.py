"""Options that the sub-commands of `nightly` share."""

from __future__ import annotations

from typing import Annotated

import typer

Suite = Annotated[
    str, typer.Option("--suite", metavar="SUITE", help="A built-in nightly suite, or your own file (mine.toml).")
]
