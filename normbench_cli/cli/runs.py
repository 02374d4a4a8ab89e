"""normbench runs: list and show recorded runs; `runs_diff`, `runs_edit` and `runs_rm` have the other commands."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import typer

from normbench_cli import paths, store
from normbench_cli.cli import _options, runs_diff, runs_edit, runs_rm
from normbench_cli.cli._columns import Row
from normbench_cli.cli._details import detail_rows
from normbench_cli.cli._help import Command
from normbench_cli.cli._options import Common, common_options
from normbench_cli.cli._output import echo, hint, print_json, print_table
from normbench_cli.cli._run_json import listed, shown
from normbench_cli.cli._tables import percent, short_time
from normbench_cli.errors import EXIT_OK, UsageError
from normbench_cli.local_time import local_time
from normbench_cli.nested import flattened
from normbench_cli.registry.spec import format_value, suggest
from normbench_cli.store.errors import NoDatabase
from normbench_cli.store.metric_names import cautions
from normbench_cli.store.status import STATUSES

EPOCHS_SHOWN = 8

app = typer.Typer(help="List, show, compare, label and remove recorded runs.", no_args_is_help=True)


@app.command("list", cls=Command)
@common_options
def list_runs(
    status: Annotated[
        str | None,
        typer.Option(
            "--status", "--state", help=f"Only runs with this status: {', '.join(STATUSES)}.", rich_help_panel="Filters"
        ),
    ] = None,
    tag: _options.Tag = None,
    where: _options.Where = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", metavar="N", min=0, help="List at most this many runs; 0 lists all.", rich_help_panel="Filters"
        ),
    ] = 30,
    *,
    common: Common,
) -> int:
    """List recorded runs, newest first.

    Examples:
      normbench runs list --status failed
      normbench runs list --where 'norm=popnorm and test/accuracy > 0.9' --limit 0
    """
    if status is not None and status not in STATUSES:
        raise UsageError(f"'{status}' is not the status of a run", suggest(status, list(STATUSES)))
    accepted = store.filter.parse_where(where or [])
    try:
        with store.Store.open(common.db, write=False) as opened:
            found = store.queries.runs_frame(opened, status=status, tag=tag, where=accepted)
            frame = found.head(limit or len(found))
            values = store.queries.metrics_frame(
                opened, frame["id"].tolist(), None if common.json else ["test/accuracy"]
            )
            damage = opened.damage()
    except NoDatabase as error:
        if common.json:
            print_json({"runs": []})
        hint(str(error), common.quiet)
        return EXIT_OK
    metrics: dict[str, dict[str, float]] = {}
    for run_id, name, value in zip(values["run_id"], values["metric"], values["value"], strict=True):
        metrics.setdefault(run_id, {})[name] = value
    rows = frame.to_dict("records")
    if common.json:
        print_json({"runs": [listed(row, metrics.get(row["id"], {})) for row in rows]})
    elif rows:
        print_table([row_of(row, metrics.get(row["id"], {}).get("test/accuracy")) for row in rows])
    for line in damage:
        hint(line)
    if len(found) > len(rows):
        hint(f"showing the newest {len(rows)} of {len(found)} runs; --limit 0 shows all", common.quiet)
    if found.empty:
        narrowed = status or tag or where
        hint("no recorded run matches" if narrowed else "no runs yet; `normbench train` makes one", common.quiet)
    return EXIT_OK


def row_of(row: Mapping[Any, Any], accuracy: float | None) -> dict[str, str]:
    """A run in the table of `runs list`."""
    return {
        "run": row["id"],
        "status": row["status"],
        **{name: str(row[name]) for name in ("norm", "act", "model", "data", "seed")},
        **({"tag": row["tag"]} if row["tag"] else {}),
        "accuracy": percent(accuracy),
        "started": short_time(local_time(row["started_at"])),
    }


@app.command("show", cls=Command)
@common_options
def show_run(run: _options.RunId, *, common: Common) -> int:
    """Show everything recorded about a run: settings, components, environment, last metrics, metrics by epoch.

    Examples:
      normbench runs show d322c4f1
      normbench runs show d322 --json
    """
    from normbench_cli.reporting.tables import heading, shown_factor

    with store.Store.open(common.db, write=False) as opened:
        found = opened.find(run)
        metrics = opened.latest_metrics(found.id)
        curve = store.queries.metrics_frame(opened, [found.id], curve=True)
    epochs = curve.pivot(index="epoch", columns="metric", values="value")
    if common.json:
        by_epoch = [{"epoch": int(epoch), "metrics": row.dropna().to_dict()} for epoch, row in epochs.iterrows()]
        print_json({"runs": [shown(found, metrics, curve=by_epoch)]})
        return EXIT_OK
    facts = shown(found, metrics, folder=str(paths.run_folder(found.id)))
    config, environment, details = facts.pop("config"), facts.pop("environment"), facts.pop("details")
    del facts["metrics"]
    some_epochs = epochs.iloc[evenly_spaced(len(epochs), EPOCHS_SHOWN)].iterrows()
    tables: list[list[Row]] = [
        [{"run": name, found.id: cell(value)} for name, value in facts.items() if value not in ("", None)],
        [{"setting": name, "value": format_value(value)} for name, value in flattened(config)],
        detail_rows(details),
        [{"environment": name, "value": format_value(value)} for name, value in flattened(environment)],
        [
            {"last metric": heading(name), "value": f"{value * shown_factor(name):.6g}"}
            for name, value in metrics.items()
        ],
        [
            {"epoch": f"{epoch:.0f}"}
            | {heading(str(name)): f"{value * shown_factor(str(name)):.4g}" for name, value in row.items()}
            for epoch, row in some_epochs
        ],
    ]
    for number, table in enumerate(filter(None, tables)):
        if number:
            echo("")
        print_table(table)
    for caution in cautions(metrics):
        hint(caution, common.quiet)
    return EXIT_OK


def cell(value: object) -> str:
    """A fact of a run as text: items separated by blanks, local times."""
    if isinstance(value, list):
        return " ".join(map(str, value))
    return f"{local_time(value):%Y-%m-%d %H:%M:%S}" if isinstance(value, datetime) else str(value)


def evenly_spaced(length: int, most: int) -> list[int]:
    """At most `most` indices, evenly spaced from the first to the last."""
    if length <= most:
        return list(range(length))
    return sorted({round(i * (length - 1) / (most - 1)) for i in range(most)})


app.command("diff", cls=Command)(runs_diff.diff_runs)
app.command("tag", cls=Command)(runs_edit.tag_runs)
app.command("note", cls=Command)(runs_edit.note_runs)
app.command("rm", cls=Command)(runs_rm.remove)
