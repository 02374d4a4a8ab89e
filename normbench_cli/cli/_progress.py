"""Live progress of training on stderr, and stopping in good order."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as ProgressBar

from normbench_cli.runs.events import Notice, Progress, RunEnded, RunStarted

if TYPE_CHECKING:
    from normbench_cli.config import RunConfig


class Watcher:
    """Shows a bar for the run and, in a grid, one for all runs; silent when stderr is not a terminal."""

    def __init__(self, runs: int, *, quiet: bool) -> None:
        console = Console(stderr=True)
        self._quiet = quiet
        self._bars = ProgressBar(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[facts]}"),
            TimeRemainingColumn(),
            console=console,
            disable=quiet or not console.is_terminal,
        )
        self._all = self._bars.add_task("runs", total=runs, facts=f"0/{runs}") if runs > 1 else None
        self._runs, self._ended, self._one = runs, 0, self._bars.add_task("starting", total=None, facts="")

    def __enter__(self) -> Watcher:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def begin(self, config: RunConfig) -> None:
        name = f"{config.model} {config.norm} {config.act} seed {config.seed}"
        self._bars.reset(self._one, total=None, description=name, facts="")

    def __call__(self, record: Any) -> None:
        """Take what the engine tells: a look within an epoch moves the bar, a notice is printed."""
        if isinstance(record, Notice) and not self._quiet:
            self._bars.console.print(record.text, highlight=False, soft_wrap=True, markup=False)
        if isinstance(record, RunStarted):
            self.begin(record.config)
        if isinstance(record, RunEnded):
            self.ended()
        if not isinstance(record, Progress):
            return
        facts = (
            f"epoch {record.epoch}/{record.epochs}  loss {record.loss:.3f}  "
            f"accuracy {record.accuracy:.1%}  {record.samples_per_s:,.0f} samples/s"
        )
        self._bars.update(self._one, total=record.steps, completed=record.step, facts=facts)

    def ended(self) -> None:
        self._ended += 1
        if self._all is not None:
            self._bars.update(self._all, completed=self._ended, facts=f"{self._ended}/{self._runs}")


@contextmanager
def stoppable() -> Iterator[None]:
    """A polite kill (cron, a batch system) ends a run like Ctrl-C: recorded as interrupted.

    Ctrl-C itself is set too, because a script's background jobs begin with it ignored.
    """

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
