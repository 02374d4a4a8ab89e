"""normbench eval: score finished runs' checkpoints again, clean and disturbed, and add what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from normbench_cli.cli import _options
from normbench_cli.errors import EXIT_OK
from normbench_cli.registry import ATTACKS, CORRUPTIONS
from normbench_cli.registry.spec import expand, split_list
from normbench_cli.runs.events import Callback, CasesStarted, Event, Notice

if TYPE_CHECKING:
    from normbench_cli.runs.evaluate import CorruptionCase
    from normbench_cli.runs.result import RunResult


def evaluate(
    runs: _options.RunIds,
    attack: Annotated[
        list[str] | None,
        typer.Option(
            "--attack",
            help="Disturb the inputs: gaussian, bim:eps=0.03,steps=20, bim:eps=0.01/0.02/0.03 (several).",
            autocompletion=lambda incomplete: [name for name in ATTACKS.choices() if name.startswith(incomplete)],
        ),
    ] = None,
    corruption: Annotated[
        list[str] | None,
        typer.Option(
            "--corruption",
            help="Corrupt the images: fog (at severities 1 to 5), gaussian_noise:severity=1/3/5, all (the fifteen of "
            "CIFAR-10-C, generated), cifar10c or cifar100c (the published files).",
            autocompletion=lambda incomplete: [
                name for name in ["all", *CORRUPTIONS.choices()] if name.startswith(incomplete)
            ],
        ),
    ] = None,
    device: Annotated[str, typer.Option("--device", help="Where to compute: auto, cpu, cuda, cuda:1, ...")] = "auto",
    db: _options.Database = None,
    json: _options.Json = False,
    debug: _options.Debug = False,
    quiet: _options.Quiet = False,
) -> int:
    """Score a finished run's checkpoint on the test set, clean, attacked, corrupted, and add what is measured to it."""
    from normbench_cli.cli._output import hint, print_json, print_table
    from normbench_cli.runs import evaluate as evaluation
    from normbench_cli.store import Store

    wanted = [one for text in attack or [] for spec in split_list(text) for one in expand(spec)]
    attacks = list(dict.fromkeys(map(ATTACKS.canonical, wanted)))
    for spec in attacks:
        ATTACKS.build(spec)
    cells, notes = evaluation.parse_cases(corruption or [])
    for note in notes:
        hint(note, quiet)
    with Store.open(db, create=False) as store:
        ids = [store.find(text).id for text in runs]  # all names first: a wrong one costs no work
        for run_id in ids:
            evaluation.check(run_id, store, cells)
        with progress(len(cells) * len(ids), quiet) as watch:
            outcomes = [evaluation.evaluate(run_id, store, device, attacks, cells, watch) for run_id in ids]
    if json:
        print_json({"runs": [outcome.to_json() for outcome in outcomes]})
        return EXIT_OK
    print_table([row_of(outcome, attacks) for outcome in outcomes])
    for outcome in outcomes if cells else ():
        print()
        print_table(corruption_rows(outcome, cells), title=f"run {outcome.id}: error at each severity")
    return EXIT_OK


def row_of(outcome: RunResult, attacks: Sequence[str]) -> dict[str, str]:
    """A run's scores in one row."""
    config, metrics = outcome.config, outcome.metrics
    row = {"run": outcome.id, "norm": config.norm, "act": config.act, "model": config.model}
    row |= {"data": config.data, "seed": str(config.seed)}
    row |= {"test loss": f"{metrics['test/loss']:.4f}", "accuracy": f"{metrics['test/accuracy']:.2%}"}
    if "test/worst_group_accuracy" in metrics:
        row["worst group"] = f"{metrics['test/worst_group_accuracy']:.2%}"
    for spec in attacks:
        row[spec] = f"{metrics[f'test/accuracy@{spec}']:.2%}"
        row[f"{spec} lost"] = f"{metrics[f'test/accuracy_drop@{spec}']:.2%}"
        if (clipped := metrics.get(f"test/accuracy_clip_only@{spec}")) is not None:
            row[f"{spec} clip only"] = f"{clipped:.2%}"
    return row


def corruption_rows(outcome: RunResult, cells: Sequence[CorruptionCase]) -> list[dict[str, str]]:
    """Corruptions down, severities across, with the mean of each and of those that count."""
    metrics = outcome.metrics
    severities = sorted({cell.severity for cell in cells})
    rows: dict[str, dict[str, str]] = {}
    for cell in cells:
        empty = {"corruption": cell.kind} | dict.fromkeys(map(str, severities), "-")
        row = rows.setdefault(cell.kind, empty)
        row[str(cell.severity)] = f"{1 - metrics[f'test/accuracy@{cell.spec}']:.2%}"
        mean = metrics.get(f"test/corruption_error@{cell.kind}")
        row["mean"] = "-" if mean is None else f"{mean:.2%}"
    for group in dict.fromkeys(cell.group for cell in cells):
        where = f"@{group}" if group else ""
        if (mean := metrics.get(f"test/mean_corruption_error{where}")) is not None:
            name = f"mean of {metrics[f'test/corruptions_in_mean{where}']:.0f}" + (f", {group}" if group else "")
            rows[name] = {"corruption": name, "mean": f"{mean:.2%}"}
    return list(rows.values())


@contextmanager
def progress(total: int, quiet: bool) -> Iterator[Callback]:
    """Which corruption is being measured, on stderr if that is a terminal; and what there is to say."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=quiet or not total or not console.is_terminal, transient=True) as bars:
        task, begun = bars.add_task("", total=total), 0

        def watch(event: Event) -> None:
            nonlocal begun
            if isinstance(event, Notice) and not quiet:
                bars.console.print(event.text, highlight=False, soft_wrap=True, markup=False)
            elif isinstance(event, CasesStarted):
                bars.update(task, description=event.kind, completed=begun)
                begun += event.cases

        yield watch
