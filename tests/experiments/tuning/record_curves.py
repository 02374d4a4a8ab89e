"""Write the learning curves of the newest tuning to curves.json, which was made once by

normbench tune --norm batchnorm,layernorm,popnorm --act sigmoid --model mlp --budget 32
python -m tests.experiments.tuning.record_curves
"""

from __future__ import annotations

import json
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


def record() -> None:
    with Store.open(write=False) as store:
        tuning = read_tuning(store)
        runs = {one.name: [trial.run for trial in one.trials] for one in tuning.contenders}
        frame = metrics_frame(store, tuning.runs, [tuning.metric], curve=True).sort_values("epoch")
    values = {run: part["value"].round(4).tolist() for run, part in frame.groupby("run_id")}
    curves = {name: [values[run] for run in of_name] for name, of_name in runs.items()}
    lines = [f'"{name}": [\n  ' + ",\n  ".join(map(json.dumps, rows)) + "\n]" for name, rows in curves.items()]
    FILE.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    record()
