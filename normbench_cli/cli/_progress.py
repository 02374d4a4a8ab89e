"""Live progress on stderr.  Loads rich: imported when work begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Column

from normbench_cli.cli._live_cells import cells_progress
from normbench_cli.cli._options import Common
from normbench_cli.cli._run_words import axis_words
from normbench_cli.config import RunConfig
from normbench_cli.experiments.events import Callback, CasesStarted, Event, Notice, Progress, RunEnded, RunStarted
from normbench_cli.experiments.executors.choice import Choice
from normbench_cli.printable import printable

COLUMNS: tuple[ProgressColumn, ...] = (
    TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
    BarColumn(bar_width=None),
    TextColumn("{task.fields[numbers]}", markup=False, table_column=Column(no_wrap=True)),
    TimeRemainingColumn(),
)
LEAST_BAR, TIME_LEFT, GAPS = 10, 7, 4  # terminal columns
LEAST_NAME = 16


class TrainingBars:
    """A bar for the run in training and, in a grid, one for all runs."""

    def __init__(self, bars: Bars, runs: int, axes: Sequence[str] = ()) -> None:
        self._bars = bars
        self._runs = runs
        self._axes = axes
        self._ended = 0
        self._config: RunConfig | None = None
        self._grid = bars.add_task("runs", total=runs, numbers=f"0/{runs}") if runs > 1 else None
        self._run = bars.add_task("starting", total=None, numbers="")

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._config = event.config
            self._bars.reset(self._run, total=None, description=self._name(), numbers="")
        elif isinstance(event, Progress):
            numbers = run_numbers(event, self._width - LEAST_NAME)
            name = self._name(len(numbers))
            self._bars.update(self._run, total=event.steps, completed=event.step, description=name, numbers=numbers)
        elif isinstance(event, RunEnded):
            self._ended += 1
            if self._grid is not None:
                self._bars.update(self._grid, completed=self._ended, numbers=f"{self._ended}/{self._runs}")

    def _name(self, taken: int = 0) -> str:
        """The run's name, in the width that the numbers leave."""
        return run_name(self._config, self._width - taken, self._axes) if self._config else ""

    @property
    def _width(self) -> int:
        """The width that the bar and the time left leave for text."""
        return self._bars.console.width - LEAST_BAR - TIME_LEFT - GAPS


def run_name(config: RunConfig, width: int, axes: Sequence[str] = ()) -> str:
    """The settings that distinguish runs, as many as fit: varying ones are dropped last; then the norm is shortened."""
    seed, varying = f"seed {config.seed}", axis_words(config, axes)
    act = [config.act] if "act" in axes else []
    for words in (
        [config.model, config.norm, config.act, *varying],
        [config.norm, config.act, *varying],
        *([config.norm, *act, *varying[:most]] for most in range(len(varying), -1, -1)),
        [config.norm],
    ):
        name = " ".join([*words, seed])
        if len(name) <= width:
            return name
    return f"{config.norm[: max(1, width - len(seed) - 2)]}… {seed}"


def run_numbers(event: Progress, width: int) -> str:
    """The epoch and as many measurements as fit."""
    numbers = f"epoch {event.epoch}/{event.epochs}"
    for more in (
        f"loss {event.loss:.3f}",
        f"accuracy {event.accuracy:.1%}",
        f"{event.samples_per_s:,.0f} samples/s",
    ):
        if len(numbers) + 2 + len(more) > width:
            break
        numbers += f"  {more}"
    return numbers


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


def grid_progress(
    configs: Sequence[RunConfig], axes: Sequence[str], choice: Choice | None, common: Common
) -> AbstractContextManager[Callback]:
    """Progress of runs one after another, or of runs on workers.  axes: the settings that vary."""
    if choice is None:
        return training_progress(len(configs), axes, quiet=common.quiet)
    return cells_progress(configs, axes, quiet=common.quiet or common.json)


@contextmanager
def training_progress(runs: int, axes: Sequence[str] = (), *, quiet: bool) -> Iterator[Callback]:
    """axes: the settings that vary."""
    with bars_on_stderr(quiet) as bars:
        yield with_notices(TrainingBars(bars, runs, axes), bars, quiet)


@contextmanager
def evaluation_progress(cases: int, *, quiet: bool) -> Iterator[Callback]:
    with bars_on_stderr(quiet, transient=True) as bars:
        yield with_notices(EvaluationBar(bars, cases), bars, quiet)


@contextmanager
def profile_progress(places: int, *, quiet: bool) -> Iterator[Callable[[list[str]], None]]:
    """A bar for the comparisons; yields a function that prints the lines of a finished one above it."""
    with bars_on_stderr(quiet, transient=True) as bars:
        task = bars.add_task("comparing", total=places, numbers=f"0/{places}")

        def done(lines: list[str]) -> None:
            for line in () if quiet else lines:
                bars.console.print(printable(line), highlight=False, soft_wrap=True, markup=False)
            bars.advance(task)
            bars.update(task, numbers=f"{bars.tasks[0].completed:.0f}/{places}")

        yield done


def bars_on_stderr(quiet: bool, transient: bool = False) -> Bars:
    """Bars that stay silent where stderr is not a terminal."""
    console = Console(stderr=True)
    return Bars(*COLUMNS, console=console, disable=quiet or not console.is_terminal, transient=transient)


def with_notices(show: Callback, bars: Bars, quiet: bool) -> Callback:
    """Wrap the callback of these bars to print notices above them."""

    def on_event(event: Event) -> None:
        if isinstance(event, Notice) and not quiet:
            bars.console.print(printable(event.text), highlight=False, soft_wrap=True, markup=False)
        show(event)

    return on_event
