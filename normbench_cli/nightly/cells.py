"""Measuring one cell of a nightly suite.  Loads torch.

`main` measures a cell in its own process (`cell_process`), so that its memory use and crashes do not affect other
cells.  It reads one line of JSON on stdin, ``{"cell": {...}, "db": ..., "source": ...}``, and prints ``{"values":
{metric: value}, "run_id": ...}``.  It ends when its stdin is closed, as when its parent dies.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any, NoReturn

from normbench_cli import interrupts, paths
from normbench_cli.config import make_config
from normbench_cli.errors import EXIT_ERROR, EXIT_INTERRUPTED, NormbenchError
from normbench_cli.experiments.calibrated import train_calibrated
from normbench_cli.experiments.profile import plan_profile, profile_contenders
from normbench_cli.experiments.profiling.results import Row
from normbench_cli.nightly.cell import REFERENCE, NightlyCell, cell_from
from normbench_cli.nightly.cell_process import Measured
from normbench_cli.nightly.measurements import OF_TRAINING, TIME_VS_CALIBRATION, TIME_VS_REFERENCE
from normbench_cli.registry.trust import recorded_in
from normbench_cli.store import Store

TAG = "nightly"


def measure_cell(cell: NightlyCell, store: Store) -> dict[str, float]:
    """Metric -> value.  Its runs are recorded as ordinary runs with the tag `nightly`."""
    return measure(cell, store).values


def measure(cell: NightlyCell, store: Store, source: str = "a nightly suite") -> Measured:
    """Measure a cell.  source: where its specs come from, for the error if a package is not allowed."""
    paths.set_compile_cache()
    config = make_config({**cell.settings, "tag": TAG}, recorded_in(source))
    if cell.kind == "profile":
        return profiled(cell, config.norm, store)
    result, steps = train_calibrated(config, store)
    if result.status not in ("finished", "diverged"):
        raise NormbenchError(f"run {result.id} is {result.status}: {result.message}", "see `normbench runs show`")
    values = {name: result.metrics[name] for name in OF_TRAINING if name in result.metrics}
    return Measured(values | ({} if steps is None else {TIME_VS_CALIBRATION: steps}), result.id)


def profiled(cell: NightlyCell, norm: str, store: Store) -> Measured:
    """Time a norm against `batchnorm`, or `batchnorm` against the calibration."""
    settings = {name: value for name, value in cell.settings.items() if name != "norm"} | {"tag": TAG}
    plan = plan_profile(
        [norm],
        settings=settings,
        shapes=cell.shapes,
        only="layers" if cell.shapes else "model",
        rounds=cell.rounds,
    )
    run_ids, found = profile_contenders(plan, store)
    rows = [row for row in found["results"] if row["contender"] == norm and row["reference"] in (REFERENCE, None)]
    values: dict[str, float] = {}
    for row in rows:
        values |= value_of(row, norm)
    failures = [row["message"] for row in rows if row["status"] != "ok"]
    if failures and not values:
        raise NormbenchError(f"{norm} could not be measured: {failures[0]}", "see `normbench runs show`")
    return Measured(values, run_ids[norm])


def value_of(row: Row, norm: str) -> dict[str, float]:
    """The values of a profile's row that a night keeps; none if the row reports a failure."""
    if row["status"] != "ok":
        return {}
    place = row.get("shape") or row["model"]
    if row["metric"] != "step_time_ms":
        return {f"{row['metric']}@{place}": row["median"]} if row["metric"] in OF_TRAINING else {}
    if norm == REFERENCE:
        return {f"{TIME_VS_CALIBRATION}@{place}": row["calibrated"]}
    return {} if row["ratio"] is None else {f"{TIME_VS_REFERENCE}@{place}": row["ratio"]}


def main() -> NoReturn:
    """Measure the cell given on stdin; an error is one line on stderr."""
    asked: dict[str, Any] = json.loads(sys.stdin.readline())
    threading.Thread(target=end_with_parent, daemon=True).start()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of a component is not the answer
    try:
        with interrupts.raised(), Store.open(asked["db"]) as store:
            done = measure(cell_from(asked["cell"]), store, asked.get("source", ""))
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except Exception as error:
        kind = "" if isinstance(error, NormbenchError) else f"{type(error).__name__}: "
        print(" ".join(f"{kind}{error}".split()), file=sys.stderr)
        sys.exit(EXIT_ERROR)
    with out:
        json.dump({"values": done.values, "run_id": done.run_id}, out)
    sys.exit(0)


def end_with_parent() -> None:
    """Exit when stdin is closed; the run of this process then counts as interrupted."""
    while os.read(0, 1000):  # not through sys.stdin, whose lock this thread would hold at exit
        pass
    os._exit(EXIT_INTERRUPTED)
