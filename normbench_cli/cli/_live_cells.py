"""Live view of a grid that workers run: a table on a terminal, a line for each ended cell elsewhere.

Loads rich: imported when work begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from normbench_cli.cli._output import hint
from normbench_cli.cli._run_words import run_words
from normbench_cli.config import RunConfig
from normbench_cli.experiments.events import Callback, CellState, Event, Notice, ignore
from normbench_cli.printable import printable

WAITING, AT_WORK = "waiting", ("running", "lost")
HEAD = 4  # lines that are not rows: the table's header, and the count below it
COLUMNS = ("cell", "state", "epoch", "accuracy", "run")
STYLES = {"waiting": "dim", "running": "bold", "lost": "yellow", "failed": "red", "diverged": "yellow"}


class LiveCells:
    """A row for each cell.  If not all fit, running ones come first, then those that ended last."""

    def __init__(self, configs: Sequence[RunConfig], axes: Sequence[str], console: Console) -> None:
        self._axes, self._console = axes, console
        self._states = {n: CellState(n, config, WAITING) for n, config in enumerate(configs)}
        self._ended: list[int] = []

    def change(self, state: CellState) -> None:
        self._states[state.number] = state
        if state.state not in AT_WORK:
            self._ended.append(state.number)

    def shown(self) -> list[CellState]:
        """The cells that fit, in the order of the grid."""
        at_work = [state.number for state in self._states.values() if state.state in AT_WORK]
        waiting = [state.number for state in self._states.values() if state.state == WAITING]
        most = max(1, self._console.height - HEAD)
        return [self._states[number] for number in sorted([*at_work, *self._ended[::-1], *waiting][:most])]

    def row(self, state: CellState) -> tuple[str, ...]:
        total = state.config.epochs
        epoch = "" if state.epoch is None else f"{state.epoch}/{total}" if total else str(state.epoch)
        score = "" if state.score is None else f"{state.score:.2%}"
        return run_words(state.config, self._axes), state.state, epoch, score, state.run_id

    def summary(self) -> str:
        """``3 of 24 have ended: 2 finished, 1 failed; 2 running, 19 waiting``"""
        count = Counter(state.state for state in self._states.values())
        busy = [f"{count.pop(state)} {state}" for state in (*AT_WORK, WAITING) if state in count]
        ended = ", ".join(f"{number} {state}" for state, number in count.items())
        text = f"{count.total()} of {len(self._states)} have ended" + (f": {ended}" if ended else "")
        return "; ".join(filter(None, [text, ", ".join(busy)]))

    def __rich__(self) -> Group:
        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for name in COLUMNS:
            number = name in ("epoch", "accuracy")
            table.add_column(name, justify="right" if number else "left", no_wrap=name != COLUMNS[0])
        for state in self.shown():
            style = STYLES.get(state.state, "")  # the name is cut to fit one line
            cells = (Text(printable(text), style, no_wrap=True, overflow="ellipsis") for text in self.row(state))
            table.add_row(*cells)
        return Group(table, Text(self.summary()))


class CellLines:
    """A line for each cell that has ended, or whose worker was lost."""

    def __init__(self, configs: Sequence[RunConfig], axes: Sequence[str]) -> None:
        self._cells, self._axes, self._ended = len(configs), axes, 0

    def change(self, state: CellState) -> None:
        name = run_words(state.config, self._axes)
        if state.state == "lost":
            hint(f"{name}: its worker is lost and another takes over ({state.message})")
        elif state.state not in AT_WORK:
            self._ended += 1
            score = "" if state.score is None else f", accuracy {state.score:.2%}"
            hint(f"{self._ended}/{self._cells} {name}: {state.state}{score}")


@contextmanager
def cells_progress(configs: Sequence[RunConfig], axes: Sequence[str] = (), *, quiet: bool) -> Iterator[Callback]:
    """axes: the settings that vary."""
    console = Console(stderr=True)
    if quiet:
        yield ignore
    elif not console.is_terminal:
        lines = CellLines(configs, axes)

        def say(event: Event) -> None:
            if isinstance(event, Notice):
                hint(event.text)
            elif isinstance(event, CellState):
                lines.change(event)

        yield say
    else:
        with live_cells(configs, axes, console) as on_event:
            yield on_event


@contextmanager
def live_cells(configs: Sequence[RunConfig], axes: Sequence[str], console: Console) -> Iterator[Callback]:
    """The table, redrawn on every change."""
    table = LiveCells(configs, axes, console)
    with Live(table, console=console, transient=True, auto_refresh=False) as live:
        live.refresh()

        def on_event(event: Event) -> None:
            if isinstance(event, Notice):
                console.print(printable(event.text), highlight=False, soft_wrap=True, markup=False)
            elif isinstance(event, CellState):
                table.change(event)
                live.refresh()

        yield on_event
