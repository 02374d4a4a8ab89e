"""normbench eval: score finished runs' checkpoints again and add what was measured."""

from __future__ import annotations

from typing import Annotated

import typer

from normbench_cli.cli import options
from normbench_cli.errors import EXIT_OK


def evaluate(
    runs: options.RunIds,
    device: Annotated[str, typer.Option("--device", help="Where to compute: auto, cpu, cuda, cuda:1, ...")] = "auto",
    db: options.Database = None,
    json: options.Json = False,
    debug: options.Debug = False,
    quiet: options.Quiet = False,
) -> int:
    """Score a finished run's checkpoint on the test set; the measurements are added to the run."""
    from normbench_cli import runner
    from normbench_cli.cli.output import print_json, print_table
    from normbench_cli.store import Store

    with Store.open(db, create=False) as store:
        ids = [store.find(text).id for text in runs]  # all names first: a wrong one costs no work
        outcomes = [runner.evaluate(run_id, store, device) for run_id in ids]
    if json:
        print_json({"runs": [outcome.to_json() for outcome in outcomes]})
        return EXIT_OK
    print_table(
        [
            {
                "run": outcome.run_id,
                "norm": outcome.config.norm,
                "act": outcome.config.act,
                "model": outcome.config.model,
                "data": outcome.config.data,
                "seed": str(outcome.config.seed),
                "test loss": f"{outcome.metrics['test/loss']:.4f}",
                "test accuracy": f"{outcome.metrics['test/accuracy']:.2%}",
            }
            for outcome in outcomes
        ]
    )
    return EXIT_OK
