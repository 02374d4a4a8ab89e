"""normbench runs tag, runs note: change the tag or note of recorded runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from normbench_cli import store
from normbench_cli.cli import _options
from normbench_cli.cli._options import Common, common_options
from normbench_cli.cli._output import echo, print_json
from normbench_cli.cli._run_json import listed
from normbench_cli.errors import EXIT_OK


@common_options
def tag_runs(
    runs: _options.RunIds,
    tag: Annotated[str, typer.Argument(metavar="TAG", help="New tag; '' removes the tag.")],
    *,
    common: Common,
) -> int:
    """Set the tag of runs, by which `runs list`, `report` and --where find them.

    A running run goes on.  All runs are changed, or none.  The recorded settings keep the original tag.

    Examples:
      normbench runs tag d322 5e81 baseline
      normbench runs tag d322 ''
    """
    return label(runs, "tag", tag, common)


@common_options
def note_runs(
    runs: _options.RunIds,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="New note; '' removes the note.")],
    *,
    common: Common,
) -> int:
    """Set the note of runs: free text that `runs show` prints and --where can search.

    A running run goes on.  All runs are changed, or none.  The recorded settings keep the original note.

    Examples:
      normbench runs note d322 'before the driver update'
      normbench runs note d322 5e81 ''
    """
    return label(runs, "note", text, common)


def label(runs: Sequence[str], name: Literal["tag", "note"], text: str, common: Common) -> int:
    with store.Store.open(common.db, create=False) as opened:
        found = {run.id: run for run in map(opened.find, runs)}
        changed = [
            listed(vars(run) | {name: text}, opened.latest_metrics(run.id)) for run in found.values() if common.json
        ]
        opened.label(found, name, text)
    if common.json:
        print_json({"runs": changed})
    else:
        echo(f"{name} of {', '.join(found)}: {text}" if text else f"{name} of {', '.join(found)} removed")
    return EXIT_OK
