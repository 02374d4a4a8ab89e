"""Options that commands share, each declared once."""

from __future__ import annotations

from typing import Annotated

import typer

Database = Annotated[
    str | None,
    typer.Option(
        "--db", help="Results database: a path or an SQLAlchemy URL.", show_default="NORMBENCH_DB or the home's"
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no hints.")]
RunIds = Annotated[list[str], typer.Argument(metavar="RUN...", help="Runs, by id or the beginning of one.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="A run, by id or the beginning of one.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", metavar="KEY=VALUE", help="Only runs with this setting (may be repeated)."),
]
Tag = Annotated[str | None, typer.Option("--tag", help="Only runs with this tag.")]
