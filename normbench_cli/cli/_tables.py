"""What a person sees of runs: how those that were trained ended, and what those that might be would take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from normbench_cli.cli._output import print_table
from normbench_cli.registry.spec import format_value

if TYPE_CHECKING:
    from normbench_cli.runs.dry_run import DryRun
    from normbench_cli.runs.result import RunResult


def show(outcomes: Sequence[RunResult]) -> None:
    """A row a run: what it was, how it ended, its last measurements."""
    rows = []
    for outcome in outcomes:
        metric = outcome.metrics.get
        rows.append(
            {
                "run": outcome.id,
                "norm": outcome.config.norm,
                "act": outcome.config.act,
                "model": outcome.config.model,
                "data": outcome.config.data,
                "seed": str(outcome.config.seed),
                "state": outcome.status,
                "train loss": number(metric("train/loss"), "{:.4f}"),
                "test accuracy": number(metric("test/accuracy"), "{:.2%}"),
                "best of mean curve": over_folds(outcome.metrics, "curve_best"),
                "best of each fold": over_folds(outcome.metrics, "best_per_fold"),
                "last epoch": over_folds(outcome.metrics, "last"),
                "step ms": number(metric("step_time_ms"), "{:.1f}"),
                "samples/s": number(metric("samples_per_s"), "{:,.0f}"),
                "solver iterations": number(metric("solver/iterations_mean"), "{:.2f}"),
                "saved for backward": mebibytes(metric("saved_activation_bytes")),
            }
        )
    if any(outcome.config.folds for outcome in outcomes):
        print("± is the sd over folds (ddof=0); the best epochs are chosen by the score they report.")
    filled = {name for row in rows for name, text in row.items() if text != "-"}
    print_table([{name: text for name, text in row.items() if name in filled} for row in rows])
    for outcome in outcomes:
        if outcome.message:
            print(f"{outcome.config.norm} {outcome.config.act} seed {outcome.config.seed}: {outcome.message}")


def over_folds(metrics: dict[str, float], choice: str) -> str:
    """Validation accuracy of a cross-validation: mean and sd (ddof=0, as in the papers) over folds."""
    mean, sd = (metrics.get(f"validation/accuracy{part}@{choice}") for part in ("", "_sd0"))
    return "-" if mean is None or sd is None else f"{mean:.2%} ± {sd * 100:.2f}"


def mebibytes(value: float | None) -> str:
    return "-" if value is None else f"{value / 2**20:.1f} MiB"


def number(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def show_dry_runs(outlines: Sequence[DryRun]) -> None:
    """Each cell's settings and norm layers, then a row a cell with what it would take."""
    for one in outlines:
        print_table([{"setting": name, "value": as_written(value)} for name, value in one.config.to_dict().items()])
        if one.norms:
            print_table([vars(norm) for norm in one.norms])
    print_table(
        [
            {
                **{
                    name: str(getattr(one.config, name))
                    for name in ("norm", "act", "model", "data", "objective", "seed")
                },
                "fingerprint": one.config.fingerprint(),
                "parameters": f"{one.parameters:,}",
                "norm layers": str(len(one.norms)),
                "steps": f"{one.steps:,}",
                "about": duration(one.seconds),
                "memory": mebibytes(one.memory_bytes),
            }
            for one in outlines
        ]
    )
    total = sum(one.seconds for one in outlines)
    print(f"Nothing was trained or recorded. All of it would take about {duration(total)}, by a few steps tried.")


def as_written(value: Any) -> str:
    return "by trial" if value is None else format_value(value)


def duration(seconds: float) -> str:
    """45 s, 12 min, 3.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
