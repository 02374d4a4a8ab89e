"""Cells measured in this process: many real nights, without starting Python for each cell."""

from __future__ import annotations

import time

from normbench_cli.nightly.cell import NightlyCell
from normbench_cli.nightly.cell_process import Beat, Measured
from normbench_cli.nightly.cells import measure
from normbench_cli.store import Store


def measure_here(cell: NightlyCell, db: str | None, source: str, limit: float, beat: Beat) -> Measured:
    began = time.monotonic()
    beat()
    with Store.open(db) as store:
        done = measure(cell, store, source)
    return Measured(done.values, done.run_id, time.monotonic() - began)
