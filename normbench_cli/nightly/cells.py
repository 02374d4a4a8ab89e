"""Measuring one cell of a nightly suite.  Loads torch.

``python -m normbench_cli.nightly.cells SUITE CELL --db FILE`` measures one cell in a process of its own and prints
``{"values": {metric: value}, "run_id": ..., "environment_class": ..., "environment": {...}}``.
"""

from __future__ import annotations

from normbench_cli.nightly.suite import NightlyCell
from normbench_cli.store import Store


def measure_cell(cell: NightlyCell, store: Store) -> dict[str, float]:
    """Metric -> value.  The runs that it takes are recorded as ordinary runs with the tag `nightly`."""
    raise NotImplementedError
