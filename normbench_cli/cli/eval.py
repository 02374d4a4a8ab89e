"""normbench eval: score finished runs' checkpoints again (clean, attacked, corrupted, pruned) and record the scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from normbench_cli import interrupts, store
from normbench_cli.cli import _options
from normbench_cli.cli._options import Common, Settings, common_options, completion, config_options
from normbench_cli.cli._output import echo, print_json, print_table
from normbench_cli.cli._tables import EMPTY, percent, setting_cells
from normbench_cli.errors import EXIT_OK
from normbench_cli.experiments.pruning import CRITERIA, Pruning
from normbench_cli.registry import ATTACKS, CORRUPTIONS
from normbench_cli.registry.trust import allow_packages

if TYPE_CHECKING:
    from normbench_cli.corruptions.cases import CorruptionCase
    from normbench_cli.experiments.result import RunResult

PRUNED = "accuracy by the share of channels kept, not trained again"


@config_options({"Device and speed": ("device",)})
@common_options
def evaluate(
    runs: _options.RunIds,
    attack: Annotated[
        list[str] | None,
        typer.Option(
            "--attack",
            metavar="SPEC,...",
            help="Attacks: gaussian, bim:eps=0.03,steps=20, bim:eps=0.01/0.02/0.03 (three strengths).",
            autocompletion=completion(ATTACKS.choices),
            rich_help_panel="What to score",
        ),
    ] = None,
    corruption: Annotated[
        list[str] | None,
        typer.Option(
            "--corruption",
            metavar="SPEC,...",
            help="Corruptions: fog (severities 1 to 5), gaussian_noise:severity=1/3/5, all (the fifteen of CIFAR-10-C, "
            "generated), cifar10c or cifar100c (the published files).",
            autocompletion=completion(lambda: ["all", *CORRUPTIONS.choices()]),
            rich_help_panel="What to score",
        ),
    ] = None,
    prune: Annotated[
        list[str] | None,
        typer.Option(
            "--prune",
            metavar="SPEC,...",
            help="Channel pruning without fine-tuning: gamma:keep=0.9/0.5 (keep those with the largest |gamma|), alive "
            "(those of which gamma and beta leave most of the activation), random. Without keep: nine shares.",
            autocompletion=completion(lambda: list(CRITERIA)),
            rich_help_panel="What to score",
        ),
    ] = None,
    force: _options.OtherData = False,
    allow: _options.Allow = None,
    *,
    settings: Settings,
    common: Common,
) -> int:
    """Score checkpoints of finished runs on the test set (clean, attacked, corrupted, pruned), and record the scores.

    Examples:
      normbench eval d322c4f1 --attack gaussian --attack bim:eps=0.01/0.03
      normbench eval d322c4f1 --corruption fog,gaussian_noise:severity=1/3/5
    """
    from normbench_cli.cli._progress import evaluation_progress
    from normbench_cli.experiments import evaluate as use_case

    allow_packages(allow or [])
    conditions = use_case.parse_conditions(attack or [], corruption or [], prune or [])
    cases = conditions.corruptions
    with (
        store.Store.open(common.db, create=False) as opened,
        interrupts.raised(),
        evaluation_progress(len(cases) * len(runs), quiet=common.quiet) as on_event,
    ):
        device = settings.get("device", "auto")
        results = use_case.evaluate_runs(runs, conditions, opened, device=device, force=force, on_event=on_event)
    if common.json:
        print_json({"runs": [result.to_json() for result in results]})
        return EXIT_OK
    print_table([row_of(result, conditions.attacks) for result in results])
    for result in results if cases else ():
        echo("")
        print_table(corruption_rows(result, cases), title=f"run {result.id}: error at each severity")
    if conditions.prunings:
        echo("")
        print_table([row for result in results for row in pruning_rows(result, conditions.prunings)], title=PRUNED)
    return EXIT_OK


def row_of(result: RunResult, attacks: Sequence[str]) -> dict[str, str]:
    """A run's scores in one row."""
    metrics = result.metrics
    row = {"run": result.id, **setting_cells(result.config)}
    row |= {"test loss": f"{metrics['test/loss']:.4f}", "accuracy": percent(metrics["test/accuracy"])}
    if "test/worst_group_accuracy" in metrics:
        row["worst group"] = percent(metrics["test/worst_group_accuracy"])
    for spec in attacks:
        row[spec] = percent(metrics[f"test/accuracy@{spec}"])
        row[f"{spec} lost"] = percent(metrics[f"test/accuracy_drop@{spec}"])
        if (clipped := metrics.get(f"test/accuracy_clip_only@{spec}")) is not None:
            row[f"{spec} clip only"] = percent(clipped)
    return row


def corruption_rows(result: RunResult, cases: Sequence[CorruptionCase]) -> list[dict[str, str]]:
    """A row for each corruption, a column for each severity, the mean of each corruption and of each group."""
    metrics = result.metrics
    severities = sorted({case.severity for case in cases})
    rows: dict[str, dict[str, str]] = {}
    for case in cases:
        empty = {"corruption": case.kind} | dict.fromkeys(map(str, severities), EMPTY)
        row = rows.setdefault(case.kind, empty)
        row[str(case.severity)] = percent(1 - metrics[f"test/accuracy@{case.spec}"])
        row["mean"] = percent(metrics.get(f"test/corruption_error@{case.kind}"))
    for group in dict.fromkeys(case.group for case in cases):
        condition = f"@{group}" if group else ""
        if (mean := metrics.get(f"test/mean_corruption_error{condition}")) is not None:
            counted = metrics[f"test/corruptions_in_mean{condition}"]
            name = f"mean of {counted:.0f}" + (f", {group}" if group else "")
            rows[name] = {"corruption": name, "mean": percent(mean)}
    return list(rows.values())


def pruning_rows(result: RunResult, prunings: Sequence[Pruning]) -> list[dict[str, str]]:
    """A row for each way to choose channels, a column for each share of channels kept."""
    shares = sorted({pruning.keep for pruning in prunings}, reverse=True)
    rows: dict[tuple[str, int], dict[str, str]] = {}
    for pruning in prunings:
        name = pruning.by + (f" {pruning.draw}" if pruning.draw else "")
        empty = {"run": result.id, "pruned by": name} | {f"{share:g}": EMPTY for share in shares}
        row = rows.setdefault((pruning.by, pruning.draw), empty)
        row[f"{pruning.keep:g}"] = percent(result.metrics[f"test/accuracy@{pruning}"])
    return list(rows.values())
