"""normbench eval: score finished runs' checkpoints again, clean and under attacks, and add what was measured."""

from __future__ import annotations

from typing import Annotated

import typer

from normbench_cli.cli import options
from normbench_cli.errors import EXIT_OK
from normbench_cli.registry import ATTACKS
from normbench_cli.specs import expand, split_list


def evaluate(
    runs: options.RunIds,
    attack: Annotated[
        list[str] | None,
        typer.Option(
            "--attack",
            help="Disturb the inputs: gaussian, bim:eps=0.03,steps=20, bim:eps=0.01/0.02/0.03 (several).",
            autocompletion=lambda incomplete: [name for name in ATTACKS.choices() if name.startswith(incomplete)],
        ),
    ] = None,
    device: Annotated[str, typer.Option("--device", help="Where to compute: auto, cpu, cuda, cuda:1, ...")] = "auto",
    db: options.Database = None,
    json: options.Json = False,
    debug: options.Debug = False,
    quiet: options.Quiet = False,
) -> int:
    """Score a finished run's checkpoint on the test set, clean and under attacks; what is measured is added to it."""
    from normbench_cli import runner
    from normbench_cli.cli.output import print_json, print_table
    from normbench_cli.store import Store

    wanted = [one for text in attack or [] for spec in split_list(text) for one in expand(spec)]
    attacks = list(dict.fromkeys(map(ATTACKS.canonical, wanted)))
    for spec in attacks:
        ATTACKS.build(spec)
    with Store.open(db, create=False) as store:
        ids = [store.find(text).id for text in runs]  # all names first: a wrong one costs no work
        outcomes = [runner.evaluate(run_id, store, device, attacks) for run_id in ids]
    if json:
        print_json({"runs": [outcome.to_json() for outcome in outcomes]})
        return EXIT_OK
    rows = []
    for outcome in outcomes:
        config, metrics = outcome.config, outcome.metrics
        names = {"run": outcome.run_id, "norm": config.norm, "act": config.act, "model": config.model}
        row = {**names, "data": config.data, "seed": str(config.seed)}
        row |= {"test loss": f"{metrics['test/loss']:.4f}", "accuracy": f"{metrics['test/accuracy']:.2%}"}
        if "test/worst_group_accuracy" in metrics:
            row["worst group"] = f"{metrics['test/worst_group_accuracy']:.2%}"
        for spec in attacks:
            row[spec] = f"{metrics[f'test/accuracy@{spec}']:.2%}"
            row[f"{spec} lost"] = f"{metrics[f'test/accuracy_drop@{spec}']:.2%}"
            row[f"{spec} clip only"] = f"{metrics[f'test/accuracy_clip_only@{spec}']:.2%}"
        rows.append(row)
    print_table(rows)
    return EXIT_OK
