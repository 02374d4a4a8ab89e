"""Training with the step time also measured relative to a calibration workload, which runs between the steps."""

from __future__ import annotations

from normbench_cli.config import RunConfig
from normbench_cli.device import pick_device
from normbench_cli.experiments.events import Event
from normbench_cli.experiments.grid import train_cell
from normbench_cli.experiments.result import RunResult
from normbench_cli.measure.calibration import Calibration
from normbench_cli.store import Store
from normbench_cli.store.queries import series

AROUND = 20  # samples before and after the training


def train_calibrated(config: RunConfig, store: Store) -> tuple[RunResult, float | None]:
    """Train, and return the result and the ratio of the median step time to that of the calibration.

    The ratio is None where no step is timed, as in a cross-validation.
    """
    calibration = Calibration(pick_device(config.device))

    def between_steps(_: Event) -> None:
        if not config.folds:  # folds are trained in other processes
            calibration.sample()

    for _ in range(AROUND):
        calibration.sample()
    result = train_cell(config, store, between_steps)
    for _ in range(AROUND):
        calibration.sample()
    steps = series(store, result.id, "step_time_ms")
    return result, (float(steps.median()) / calibration.ms if len(steps) else None)
