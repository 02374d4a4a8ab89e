"""Live progress on stderr.  Loads rich: imported when work begins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from normbench_cli.experiments.events import Callback, CasesStarted, Event, Notice, Progress, RunEnded, RunStarted
from normbench_cli.printable import printable

COLUMNS: tuple[ProgressColumn, ...] = (
    TextColumn("{task.description}"),
    BarColumn(bar_width=None),
    TextColumn("{task.fields[numbers]}"),
    TimeRemainingColumn(),
)


class TrainingBars:
    """A bar for the run that is being trained and, in a grid, one for all runs."""

    def __init__(self, bars: Bars, runs: int) -> None:
        self._bars = bars
        self._runs = runs
        self._ended = 0
        self._grid = bars.add_task("runs", total=runs, numbers=f"0/{runs}") if runs > 1 else None
        self._run = bars.add_task("starting", total=None, numbers="")

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            config = event.config
            name = f"{config.model} {config.norm} {config.act} seed {config.seed}"
            self._bars.reset(self._run, total=None, description=name, numbers="")
        elif isinstance(event, Progress):
            numbers = (
                f"epoch {event.epoch}/{event.epochs}  loss {event.loss:.3f}  "
                f"accuracy {event.accuracy:.1%}  {event.samples_per_s:,.0f} samples/s"
            )
            self._bars.update(self._run, total=event.steps, completed=event.step, numbers=numbers)
        elif isinstance(event, RunEnded):
            self._ended += 1
            if self._grid is not None:
                self._bars.update(self._grid, completed=self._ended, numbers=f"{self._ended}/{self._runs}")


class EvaluationBar:
    """A bar for the corruption cases of all runs."""

    def __init__(self, bars: Bars, cases: int) -> None:
        self._bars = bars
        self._task = bars.add_task("", total=cases, numbers="", visible=cases > 0)
        self._started = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, CasesStarted):
            self._bars.update(self._task, description=event.kind, completed=self._started)
            self._started += event.cases


@contextmanager
def training_progress(runs: int, *, quiet: bool) -> Iterator[Callback]:
    with bars_on_stderr(quiet) as bars:
        yield with_notices(TrainingBars(bars, runs), bars, quiet)


@contextmanager
def evaluation_progress(cases: int, *, quiet: bool) -> Iterator[Callback]:
    with bars_on_stderr(quiet, transient=True) as bars:
        yield with_notices(EvaluationBar(bars, cases), bars, quiet)


def bars_on_stderr(quiet: bool, transient: bool = False) -> Bars:
    """Bars that stay silent where stderr is not a terminal."""
    console = Console(stderr=True)
    return Bars(*COLUMNS, console=console, disable=quiet or not console.is_terminal, transient=transient)


def with_notices(show: Callback, bars: Bars, quiet: bool) -> Callback:
    """The callback of these bars, which prints notices above them."""

    def on_event(event: Event) -> None:
        if isinstance(event, Notice) and not quiet:
            bars.console.print(printable(event.text), highlight=False, soft_wrap=True, markup=False)
        show(event)

    return on_event
