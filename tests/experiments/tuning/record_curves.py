"""Real learning curves, of tunings that were made once and recorded in curves.json:

normbench tune --norm batchnorm,layernorm,popnorm --act sigmoid --model mlp --budget 24 --db three.db
normbench tune --norm bn,ln,gn,popnorm,augnorm:phi=1.5 --act sigmoid --model mlp --budget 6 --db five.db
python -m tests.experiments.tuning.record_curves three.db five.db

The first was interrupted after 50 trials; of the second only groupnorm and augnorm are taken.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from normbench_cli.reporting.tuning.read import read_tuning
from normbench_cli.store import Store
from normbench_cli.store.queries import metrics_frame

FILE = Path(__file__).with_name("curves.json")
Curves = Mapping[str, Sequence[Sequence[float]]]  # of each norm and trial, the validation accuracy after each epoch


def recorded_curves() -> Curves:
    curves: Curves = json.loads(FILE.read_text(encoding="utf-8"))
    return curves


def curves_of(db: str) -> Curves:
    """Of the newest tuning in a database."""
    with Store.open(db, write=False) as store:
        tuning = read_tuning(store)
        frame = metrics_frame(store, tuning.runs, [tuning.metric], curve=True).sort_values("epoch")
    values = {run: part["value"].round(4).tolist() for run, part in frame.groupby("run_id")}
    return {one.name: [values[trial.run] for trial in one.trials] for one in tuning.contenders}


def record(databases: Sequence[str]) -> None:
    found: dict[str, Sequence[Sequence[float]]] = {}
    for db in databases:
        found = dict(curves_of(db)) | found  # the first database with a norm counts
    lines = [f'"{name}": [\n  ' + ",\n  ".join(map(json.dumps, rows)) + "\n]" for name, rows in found.items()]
    FILE.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    record(sys.argv[1:])
