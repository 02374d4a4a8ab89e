"""What `normbench profile` prints: a line for each candidate as it is measured, then the tables.  Loads torch."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from normbench_cli.cli import _profile_steps
from normbench_cli.cli._live_profile import live_profile
from normbench_cli.cli._output import echo, print_table
from normbench_cli.cli._progress import profile_progress
from normbench_cli.config import make_config
from normbench_cli.errors import UsageError
from normbench_cli.experiments.profile import ProfilePlan, plan_profile, preset_shapes, profile_contenders, shapes_of
from normbench_cli.experiments.profiling.plan import places
from normbench_cli.experiments.profiling.results import place_columns
from normbench_cli.experiments.profiling.steps import Place
from normbench_cli.experiments.profiling.workloads import layer_norms
from normbench_cli.reporting.profiles.cells import (
    EMPTY,
    LIMIT,
    MEMORY,
    NOISY,
    RATIOS,
    cells,
    interval,
    mebibytes,
    place_of,
    time_text,
    unusual,
)
from normbench_cli.store import Store

__all__ = ["given_shapes", "plan_profile", "print_profile", "run_shown"]
PASSES = {
    "both": "forward and backward in training mode",
    "forward": "forward in training mode",
    "backward": "backward",
    "eval": "forward in evaluation mode",
}
SHORT = {"saved_activation_bytes": "saved", "peak_memory_bytes": "peak"}  # in the columns of the ratios
Row = dict[str, Any]


def given_shapes(
    shapes: list[tuple[int, ...]], preset: str | None, model: str | None, settings: Mapping[str, Any]
) -> dict[tuple[int, ...], int]:
    """The shapes that the options give, with counts; empty if they give none."""
    if sum(map(bool, (shapes, preset, model))) > 1:
        raise UsageError("--shape, --preset and --shapes-of each name shapes", "give one of them")
    if preset:
        return preset_shapes(preset, batch_size(settings))
    if model:
        return shapes_of(model, {name: value for name, value in settings.items() if name != "norm"})
    return dict.fromkeys(shapes, 1)


def batch_size(settings: Mapping[str, Any]) -> int | None:
    """The given batch size, parsed and checked by the configuration."""
    given = settings.get("batch_size")
    return None if given is None else make_config({"batch_size": given}).batch_size


def run_shown(plan: ProfilePlan, store: Store, *, quiet: bool, json: bool = False) -> dict[str, Any]:
    """Run the profile and show results on stderr as they come, in a live table on a terminal.

    The outcome has the recorded ``runs`` by norm, besides what `run_profile` gives.
    """
    if not (quiet or json) and sys.stdout.isatty() and sys.stderr.isatty():
        with live_profile([(place_title(place), norms_at(plan, place)) for place in places(plan)]) as settled:
            runs, outcome = profile_contenders(plan, store, lambda rows: settled(list(map(live_line, time_rows(rows)))))
    else:
        with profile_progress(plan.places, quiet=quiet) as shown:
            runs, outcome = profile_contenders(plan, store, lambda rows: shown(list(map(line_of, time_rows(rows)))))
    return {**outcome, "runs": runs}


def norms_at(plan: ProfilePlan, place: Place) -> list[str]:
    return layer_norms(plan) if place.case else [config.norm for config in plan.configs]


def place_title(place: Place) -> str:
    return title_of(place_columns(place, "", ""))


def live_line(row: Row) -> tuple[str, str, str]:
    """A candidate's line in the live table: popnorm, 31.200, 0.78 [0.77, 0.79]."""
    if row["status"] != "ok":
        return row["contender"], row["status"], ""
    return row["contender"], time_text(row), interval(row)


def time_rows(rows: list[Row]) -> list[Row]:
    """One row per candidate: its time relative to `batchnorm`, or why there is none."""
    return [row for row in rows if row["metric"] == "step_time_ms" and row["reference"] in ("batchnorm", None)]


def line_of(row: Row) -> str:
    """128x64x32x32 popnorm: 31.20 ms, 0.78 [0.77, 0.79] of batchnorm"""
    start = f"{title_of(row)} {row['contender']}: "
    if row["status"] != "ok":
        return f"{start}{row['status']} ({row['message']})"
    against = f", {interval(row)} of batchnorm" if row["ratio"] is not None else ""
    return f"{start}{row['median']:.3f} ms{against}{' (noisy)' if row['noisy'] else ''}"


def title_of(row: Row) -> str:
    """The shape or model, and unusual options."""
    if "model" in row:
        return _profile_steps.title_of(row)
    return " ".join([f"layer {row['shape']}", *unusual(row)])


def print_profile(outcome: dict[str, Any], precision: float | None) -> None:
    """Print a table for each shape and model, a row for each candidate; and the totals of a network's shapes."""
    results = outcome["results"]
    tables: dict[str, dict[str, dict[str, str]]] = {}
    for result in results:
        row = tables.setdefault(title_of(result), {}).setdefault(result["contender"], {"norm": result["contender"]})
        row |= texts(result)
    for title, rows in tables.items():
        print_table(list(map(in_order, rows.values())), title=f"{title}, {results[0]['device']}")
        echo("")
    print_totals(outcome["totals"])
    for note in notes(results, precision):
        echo(note)


def in_order(row: dict[str, str]) -> dict[str, str]:
    """Sort the columns by importance; the results come reference by reference."""
    return dict(sorted(row.items(), key=lambda item: place_of(item[0])))


def print_totals(totals: list[Row]) -> None:
    tables: dict[str, dict[str, dict[str, str]]] = {}
    for total in totals:
        settings = " ".join(unusual(total))
        title = f"{total['calls']} calls with {total['shapes']} shapes{f', {settings}' if settings else ''}"
        row = tables.setdefault(title, {}).setdefault(total["contender"], {"norm": total["contender"]})
        row["sum ms"] = f"{total['sum_ms']:.2f}"
        row[f"sum / {total['reference']}"] = interval(total, "sum_ratio")
        row[f"geometric mean / {total['reference']}"] = f"{total['geometric_mean']:.2f}"
    for title, rows in tables.items():
        print_table(list(rows.values()), title=title)
        echo("")


def notes(results: list[Row], precision: float | None) -> list[str]:
    """Notes on how to read the tables."""
    passes = dict.fromkeys(_profile_steps.what_is_timed(row, PASSES) for row in results)
    found = [f"{RATIOS}  Times: {'; '.join(passes)}."]
    found += _profile_steps.notes(results)
    if any(row.get("limit_fraction") is not None for row in results):
        found.append("% of limit: the least time in which this machine moves the bytes, over the time taken.")
    if precision and any(row.get("stopped") == "budget" for row in results):
        found.append(f"--budget ended before every ratio was known to {100 * precision:g} %.")
    if any(row["noisy"] for row in results):
        found.append(NOISY)
    if any(row["status"] == "oom" for row in results):
        found.append("oom: there was not enough memory.")
    failures = {row["contender"]: row["message"] for row in results if row["status"] == "failed"}
    return found + [f"{name} failed: {message}" for name, message in failures.items()]


def texts(result: Row) -> dict[str, str]:
    """What one result adds to the row of its candidate."""
    found = {name: cell.text for name, cell in cells(result).items()}
    if result["metric"] == "step_time_ms" and result["status"] == "ok":
        return found | more_of_time(result)
    if result["metric"] in MEMORY and result["median"] is not None:
        ratio = EMPTY if result["ratio"] is None else f"{result['ratio']:.2f}"
        return found | {f"{SHORT[result['metric']]} / {result['reference']}": ratio}
    return found


def more_of_time(result: Row) -> dict[str, str]:
    """The columns of a time that only the terminal has."""
    found = {"p95": f"{result['p95']:.3f}", "n": str(result["n"]), "outliers": str(result["outliers"])}
    if result["limit_fraction"] is not None:
        return found | {"must move": mebibytes(result["moved_bytes"]), "least ms": f"{result['least_ms']:.3f}"}
    return found if "model" in result else found | dict.fromkeys(("must move", "least ms", LIMIT), EMPTY)
