"""A profile's table, filled in on a terminal while it is measured.  Loads rich."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from normbench_cli.printable import printable

WAITING = "…"
HEAD = 4  # lines that are not rows: the table's header, and the count below it
COLUMNS = ("", "norm", "step ms", "time / batchnorm")
Lines = list[tuple[str, str, str]]  # of each candidate at one place: norm, time, ratio


class LiveProfile:
    """Rows of all candidates at all places, each with its title and norms; those not measured yet are marked."""

    def __init__(self, places: Sequence[tuple[str, Sequence[str]]], console: Console) -> None:
        self._places = list(places)
        self._console = console
        self._done: list[Lines] = []

    def settle(self, lines: Lines) -> None:
        """Fill in the next place."""
        self._done.append(lines)

    def rows(self) -> list[tuple[str, str, str, str]]:
        """All rows; the title of a place is in its first row."""
        found = []
        for number, (title, norms) in enumerate(self._places):
            waiting = [(norm, WAITING, "") for norm in norms]
            lines = self._done[number] if number < len(self._done) else waiting
            for index, (norm, time, ratio) in enumerate(lines):
                found.append((title if not index else "", norm, time, ratio))
        return found

    def shown(self) -> list[tuple[str, str, str, str]]:
        """As many rows as fit, up to the last of the place being measured."""
        rows = self.rows()
        most = max(1, self._console.height - HEAD)
        following = [norms for _, norms in self._places[len(self._done) :][:1]]
        end = max(min(most, len(rows)), sum(map(len, [*self._done, *following])))
        return rows[max(0, end - most) : end]

    def __rich__(self) -> Group:
        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for number, name in enumerate(COLUMNS):
            table.add_column(name, justify="left" if number < 2 else "right", no_wrap=number > 1, overflow="ellipsis")
        for row in self.shown():
            table.add_row(*(Text(printable(cell), "dim" if cell == WAITING else "") for cell in row))
        return Group(table, Text(f"{len(self._done)} of {len(self._places)} comparisons"))


@contextmanager
def live_profile(places: Sequence[tuple[str, Sequence[str]]]) -> Iterator[Callable[[Lines], None]]:
    """Yield a function that fills in the rows of the next place.

    The table is drawn when a place is done and never in between: a redrawing thread would be measured, too.
    """
    console = Console(stderr=True)
    table = LiveProfile(places, console)
    with Live(table, console=console, transient=True, auto_refresh=False) as live:
        live.refresh()

        def settled(lines: Lines) -> None:
            table.settle(lines)
            live.refresh()

        yield settled
