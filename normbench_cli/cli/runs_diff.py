"""normbench runs diff: what differs between two runs."""

from __future__ import annotations

from typing import Annotated

import typer

from normbench_cli import store
from normbench_cli.cli._document import print_document
from normbench_cli.cli._options import Common, common_options
from normbench_cli.cli._output import hint, print_json
from normbench_cli.errors import EXIT_OK
from normbench_cli.reporting import compare


@common_options
def diff_runs(
    a: Annotated[str, typer.Argument(metavar="A", help="Run id, or a unique prefix of one.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Run to compare with A.")],
    *,
    common: Common,
) -> int:
    """Show the settings, code and machine in which two runs differ, and their last metrics side by side.

    There are no statistics; `normbench compare` also takes filters, tests differences and draws curves.

    Examples:
      normbench runs diff d322c4f1 5e81
      normbench runs diff d322 5e81 --json
    """
    with store.Store.open(common.db, write=False) as opened:
        made = compare.two_runs.diff_runs(opened, (a, b))
    if common.json:
        print_json(made.to_json())
    else:
        print_document(made.to_document())
    for run_id, status in zip((made.a, made.b), made.statuses, strict=True):
        if status != "finished":
            hint(f"run {run_id} is {status}", common.quiet)
    return EXIT_OK
