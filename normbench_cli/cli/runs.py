"""normbench runs: look at what is recorded, and remove it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from normbench_cli.cli import _options
from normbench_cli.errors import EXIT_ERROR, EXIT_OK, NormbenchError, UsageError
from normbench_cli.store.status import STATUSES

if TYPE_CHECKING:
    from normbench_cli.store import Store
    from normbench_cli.store.schema import Run

EPOCHS_SHOWN = 8

app = typer.Typer(help="Look after what is recorded.", no_args_is_help=True)


@app.command("list")
def list_runs(
    state: Annotated[str | None, typer.Option("--state", help=f"Only runs that are {', '.join(STATUSES)}.")] = None,
    tag: _options.Tag = None,
    where: _options.Where = None,
    limit: Annotated[int, typer.Option("--limit", min=0, help="At most so many, the newest; 0 for all.")] = 30,
    db: _options.Database = None,
    json: _options.Json = False,
    debug: _options.Debug = False,
    quiet: _options.Quiet = False,
) -> int:
    """List recorded runs, newest first."""
    from normbench_cli.cli._output import hint, print_json, print_table
    from normbench_cli.registry.spec import suggest
    from normbench_cli.store import Store
    from normbench_cli.store.errors import NoDatabase
    from normbench_cli.store.queries import metrics_frame, parse_where, runs_frame

    if state is not None and state not in STATUSES:
        raise UsageError(f"no run is ever '{state}'", suggest(state, list(STATUSES)))
    accepted = parse_where(where or [])
    try:
        with Store.open(db, write=False) as store:
            frame = runs_frame(store, status=state, tag=tag, where=accepted)
            every, frame = len(frame), frame.head(limit or len(frame))
            values = metrics_frame(store, frame["id"].tolist(), None if json else ["test/accuracy"])
    except NoDatabase as error:
        if json:
            print_json({"runs": []})
        hint(str(error), quiet)
        return EXIT_OK
    metrics: dict[str, dict[str, float]] = {}
    for run_id, name, value in zip(values["run_id"], values["metric"], values["value"], strict=True):
        metrics.setdefault(run_id, {})[name] = value
    rows = frame.to_dict("records")
    if json:
        print_json({"runs": [listed(row, metrics.get(row["id"], {})) for row in rows]})
    elif rows:
        print_table([short(row, metrics.get(row["id"], {}).get("test/accuracy")) for row in rows])
    if every > len(rows):
        hint(f"the newest {len(rows)} of {every}; --limit 0 shows all", quiet)
    if not every:
        hint("no run is recorded" + (" like that" if state or tag or where else "; `normbench train` makes one"), quiet)
    return EXIT_OK


def listed(row: dict[str, Any], metrics: dict[str, float]) -> dict[str, Any]:
    own = ("id", "kind", "fingerprint", "message", "tag", "note", "started_at", "finished_at")
    return (
        {"id": row["id"], "status": row["status"]}
        | {name: row[name] for name in (*own, "config")}
        | {"metrics": metrics}
    )


def short(row: dict[str, Any], accuracy: float | None) -> dict[str, str]:
    words = {name: str(row[name]) for name in ("norm", "act", "model", "data", "seed")}
    return {
        "run": row["id"],
        "state": row["status"],
        **words,
        **({"tag": row["tag"]} if row["tag"] else {}),
        "accuracy": "-" if accuracy is None else f"{accuracy:.2%}",
        "started": f"{row['started_at'].astimezone():%Y-%m-%d %H:%M}",
    }


@app.command("show")
def show_run(
    run: _options.RunId,
    db: _options.Database = None,
    json: _options.Json = False,
    debug: _options.Debug = False,
    quiet: _options.Quiet = False,
) -> int:
    """Show everything about a run: settings, where it ran, what it measured, epoch by epoch."""
    from normbench_cli import paths
    from normbench_cli.cli._output import print_json, print_table
    from normbench_cli.registry.spec import format_value
    from normbench_cli.store import Store
    from normbench_cli.store.queries import metrics_frame

    with Store.open(db, write=False) as store:
        found = store.find(run)
        metrics = store.latest_metrics(found.id)
        curve = metrics_frame(store, [found.id], curve=True)
    table = curve.pivot(index="epoch", columns="metric", values="value")
    if json:
        steps = [{"epoch": int(epoch), "metrics": row.dropna().to_dict()} for epoch, row in table.iterrows()]
        print_json({"runs": [everything(found) | {"metrics": metrics, "curve": steps}]})
        return EXIT_OK
    facts = everything(found) | {"folder": str(paths.run_folder(found.id))}
    del facts["config"], facts["environment"]
    print_table([{"run": name, found.id: text(value)} for name, value in facts.items() if value not in ("", None)])
    parts = [
        [{title: name, "value": format_value(value)} for name, value in flat(values).items()]
        for title, values in (("setting", found.config), ("environment", found.environment.facts))
    ]
    parts.append([{"last measured": name, "value": f"{value:.6g}"} for name, value in metrics.items()])
    some = table.iloc[spread(len(table), EPOCHS_SHOWN)].iterrows()
    parts.append(
        [{"epoch": f"{epoch:.0f}"} | {name: f"{value:.4g}" for name, value in row.items()} for epoch, row in some]
    )
    for part in filter(None, parts):
        print()
        print_table(part)
    return EXIT_OK


def everything(run: Run) -> dict[str, Any]:
    names = ("id", "kind", "fingerprint", "message", "tag", "note", "argv", "started_at", "heartbeat_at", "finished_at")
    facts = {name: getattr(run, name) for name in (*names, "host", "pid")}
    return {"id": run.id, "status": run.status} | facts | {"config": run.config, "environment": run.environment.facts}


def text(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return f"{value.astimezone():%Y-%m-%d %H:%M:%S}" if hasattr(value, "astimezone") else str(value)


def flat(values: dict[str, Any], start: str = "") -> dict[str, Any]:
    """Nested facts with dotted names."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            found |= flat(value, f"{start}{name}.")
        else:
            found[start + name] = value
    return found


def spread(length: int, most: int) -> list[int]:
    """At most so many places, evenly from the first to the last."""
    if length <= most:
        return list(range(length))
    return sorted({round(i * (length - 1) / (most - 1)) for i in range(most)})


@app.command("rm")
def remove(
    runs: _options.RunIds,
    yes: _options.Yes = False,
    force: Annotated[bool, typer.Option("--force", help="Remove running runs, too.")] = False,
    db: _options.Database = None,
    json: _options.Json = False,
    debug: _options.Debug = False,
    quiet: _options.Quiet = False,
) -> int:
    """Remove runs: their rows and their folders."""
    from normbench_cli.cli._output import hint, print_json
    from normbench_cli.store import Store

    with Store.open(db, create=False) as store:
        found = {run.id: run for run in map(store.find, runs)}  # all of them first: a wrong name removes nothing
        for run in found.values():
            if run.status == "running" and not force:
                raise NormbenchError(f"run {run.id} is running", "wait for its end, or remove it with --force")
        if not yes and not agreed(list(found.values()), ask=not json):
            hint("nothing was removed", quiet)
            return EXIT_ERROR
        erase(store, list(found))
    if json:
        print_json({"removed": list(found)})
    else:
        print(f"removed {', '.join(found)}")
    return EXIT_OK


def agreed(runs: list[Run], ask: bool) -> bool:
    if not ask or not sys.stdin.isatty():
        raise UsageError("there is nobody to ask whether to remove runs", "say so with --yes")
    for run in runs:
        typer.echo(f"{run.id}  {run.norm} {run.act} {run.model} {run.data} seed {run.seed}  {run.status}", err=True)
    return typer.confirm(f"Remove {'this run' if len(runs) == 1 else f'these {len(runs)} runs'}?", err=True)


def erase(store: Store, run_ids: list[str]) -> None:
    import shutil

    from normbench_cli import paths

    store.delete(run_ids)
    for run_id in run_ids:
        try:
            shutil.rmtree(paths.run_folder(run_id))
        except FileNotFoundError:
            pass
        except OSError as error:
            do = f"remove {error.filename} by hand"
            raise NormbenchError(f"the rows of {run_id} are gone, its folder is not: {error.strerror}", do) from error
