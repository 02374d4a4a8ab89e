"""The tables of trained runs and of dry runs, and how their numbers are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from normbench_cli.cli._columns import Row
from normbench_cli.cli._output import echo, print_table
from normbench_cli.cli._run_words import SETTINGS, columns_for, run_words, setting_text
from normbench_cli.config import RunConfig
from normbench_cli.registry.spec import format_value
from normbench_cli.reporting.spec_names import setting_names

if TYPE_CHECKING:
    from normbench_cli.experiments.dry_run import DryRun
    from normbench_cli.experiments.norm_layers import NormLayer
    from normbench_cli.experiments.result import RunResult

EMPTY = "-"


def print_results(results: Sequence[RunResult], axes: Sequence[str] = ()) -> None:
    """Print a row per run: its settings, status and last metrics; below the table, why runs ended early.

    axes: settings that vary.
    """
    if any(result.config.folds for result in results):
        echo("± is the sd over folds (ddof=0); the best epochs are chosen by the score they report.")
    names = columns_for(axes)
    rows = without_empty_columns(named_beside_each_other([result_row(result, names) for result in results], names))
    common = common_settings(rows)
    caption = f"In common: {', '.join(f'{name} {text}' for name, text in common.items())}." if common else ""
    print_table([{name: text for name, text in row.items() if name not in common} for row in rows], caption=caption)
    for result in results:
        if result.message:
            echo(f"{run_words(result.config, axes)}: {result.message}")


def result_row(result: RunResult, settings: Sequence[str] = SETTINGS) -> Row:
    metric = result.metrics.get
    return {
        "run": result.id,
        **{name: setting_text(result.config, name) for name in settings},
        "status": result.status,
        "train loss": number(metric("train/loss"), "{:.4f}"),
        "test accuracy": percent(metric("test/accuracy")),
        "best of mean curve": mean_over_folds(result.metrics, "curve_best"),
        "best of each fold": mean_over_folds(result.metrics, "best_per_fold"),
        "last epoch": mean_over_folds(result.metrics, "last"),
        "step ms": number(metric("step_time_ms"), "{:.1f}"),
        "samples/s": number(metric("samples_per_s"), "{:,.0f}"),
        "solver iterations": number(metric("solver/iterations_mean"), "{:.2f}"),
        "saved for backward": mebibytes(metric("saved_activation_bytes")),
    }


def named_beside_each_other(rows: Sequence[Row], settings: Sequence[str] = SETTINGS) -> list[Row]:
    """The rows, with the parameters spelled out in which their specs differ."""
    names = {field: setting_names(field, [row[field] for row in rows]) for field in settings}
    return [{name: names[name][text] if name in names else text for name, text in row.items()} for row in rows]


def common_settings(rows: Sequence[Row]) -> Row:
    """The settings that all of several rows share, except the norm; they go below the table."""
    if len(rows) < 2:
        return {}
    shared = [name for name in SETTINGS if name != "norm" and len({row[name] for row in rows}) == 1]
    return {name: rows[0][name] for name in shared}


def setting_cells(config: RunConfig) -> dict[str, str]:
    """The settings that identify a run in a table."""
    return {name: setting_text(config, name) for name in SETTINGS}


def without_empty_columns(rows: Sequence[Row]) -> list[Row]:
    filled = {name for row in rows for name, text in row.items() if text != EMPTY}
    return [{name: text for name, text in row.items() if name in filled} for row in rows]


def mean_over_folds(metrics: Mapping[str, float], choice: str) -> str:
    """Validation accuracy of a cross-validation: mean and sd (ddof=0, as in the papers) over folds."""
    mean, sd = (metrics.get(f"validation/accuracy{part}@{choice}") for part in ("", "_sd0"))
    return EMPTY if mean is None or sd is None else f"{mean:.2%} ± {sd * 100:.2f}"


def number(value: float | None, form: str) -> str:
    return EMPTY if value is None else form.format(value)


def percent(value: float | None) -> str:
    return number(value, "{:.2%}")


def mebibytes(value: float | None) -> str:
    return EMPTY if value is None else f"{value / 2**20:.1f} MiB"


def duration(seconds: float) -> str:
    """45 s, 12 min, 3.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def print_dry_runs(dry_runs: Sequence[DryRun], axes: Sequence[str] = ()) -> None:
    """Print the settings that all configurations share, the norm layers of each network, and the grid: a row per
    configuration with its estimated cost.

    axes: settings that vary.
    """
    print_table([setting_row(name, value) for name, value in shared_settings(dry_runs).items()])
    echo("")
    for title, norms in networks(dry_runs).items():
        print_table([norm_row(norm) for norm in norms], title=title if len(dry_runs) > 1 else "")
        echo("")
    print_table([cost_row(one, varying_settings(dry_runs, axes)) for one in dry_runs])
    total = duration(sum(one.estimate.seconds for one in dry_runs))
    echo(f"Nothing was trained or recorded. Training would take about {total} in all, extrapolated from a few steps.")


def shared_settings(dry_runs: Sequence[DryRun]) -> dict[str, object]:
    """The settings that are the same in all configurations."""
    first, *others = [one.config.to_dict() for one in dry_runs]
    return {name: value for name, value in first.items() if all(other[name] == value for other in others)}


def networks(dry_runs: Sequence[DryRun]) -> dict[str, Sequence[NormLayer]]:
    """The norm layers of every network that has any, by its name and norm."""
    return {f"{one.config.model}, {one.config.norm}": one.norms for one in dry_runs if one.norms}


def setting_row(name: str, value: object) -> Row:
    return {"setting": name, "value": "by trial" if value is None and name == "compile" else format_value(value)}


def norm_row(norm: NormLayer) -> Row:
    parameters = " ".join(f"{name}={format_value(value)}" for name, value in norm.parameters.items())
    return {
        "name": norm.name,
        "norm": norm.norm,
        "placement": norm.placement,
        "operation": norm.operation,
        "parameters": parameters,
    }


def varying_settings(dry_runs: Sequence[DryRun], axes: Sequence[str]) -> list[str]:
    """The axes that distinguish the dry runs; the norm if there are none."""
    return [name for name in axes if len({getattr(one.config, name) for one in dry_runs}) > 1] or ["norm"]


def cost_row(one: DryRun, settings: Sequence[str]) -> Row:
    return {
        **{name: setting_text(one.config, name) for name in settings},
        "fingerprint": one.fingerprint,
        "parameters": f"{one.parameters:,}",
        "norm layers": str(len(one.norms)),
        "steps": f"{one.estimate.steps:,}",
        "about": duration(one.estimate.seconds),
        "memory": mebibytes(one.estimate.memory_bytes),
    }


def short_time(moment: datetime) -> str:
    """With the time of day for this year, with the year for others, like `ls`."""
    this_year = moment.year == datetime.now().year
    return f"{moment:%m-%d %H:%M}" if this_year else f"{moment:%Y-%m-%d}"
