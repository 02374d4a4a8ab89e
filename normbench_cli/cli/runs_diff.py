"""normbench runs diff: what differs between two runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from normbench_cli import store
from normbench_cli.cli._columns import Row
from normbench_cli.cli._options import Common, common_options
from normbench_cli.cli._output import echo, hint, print_json, print_table
from normbench_cli.cli._tables import EMPTY
from normbench_cli.errors import EXIT_OK

if TYPE_CHECKING:
    from normbench_cli.reporting.compare.settings import Difference
    from normbench_cli.reporting.compare.two_runs import MetricPair, RunsDiff


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
    from normbench_cli.reporting.compare import two_runs

    with store.Store.open(common.db, write=False) as opened:
        made = two_runs.diff_runs(opened, (a, b))
    if common.json:
        print_json(made.to_json())
    else:
        print_diff(made)
    for run_id, status in zip((made.a, made.b), made.statuses, strict=True):
        if status != "finished":
            hint(f"run {run_id} is {status}", common.quiet)
    return EXIT_OK


def print_diff(made: RunsDiff) -> None:
    ids = (made.a, made.b)
    for what, of, differences in (("setting", "", made.settings), ("fact", " about code or machine", made.facts)):
        if differences:
            print_table([difference_row(what, one, ids) for one in differences])
        else:
            echo(f"No {what}{of} differs.")
        echo("")
    if made.metrics:
        print_table([metric_row(one, ids) for one in made.metrics])
    else:
        echo("Neither run has recorded a metric.")


def difference_row(what: str, one: Difference, ids: Sequence[str]) -> Row:
    return {what: one.name} | {
        run_id: ", ".join(side) or EMPTY for run_id, side in zip(ids, (one.a, one.b), strict=True)
    }


def metric_row(one: MetricPair, ids: Sequence[str]) -> Row:
    from normbench_cli.reporting.tables import heading, shown_factor

    factor = shown_factor(one.name)

    def scaled(value: float | None, form: str = "") -> str:
        return EMPTY if value is None else f"{value * factor:{form}.6g}"

    values = {run_id: scaled(value) for run_id, value in zip(ids, (one.a, one.b), strict=True)}
    return {"metric": heading(one.name), **values, "difference": scaled(one.difference, "+")}
