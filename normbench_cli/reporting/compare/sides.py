"""The runs of each side: one by its id, or those that a filter selects."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pandas as pd

from normbench_cli.errors import UsageError
from normbench_cli.reporting import tables
from normbench_cli.reporting.query import KINDS, NothingMeasured
from normbench_cli.store import Store
from normbench_cli.store.filter import parse_filter
from normbench_cli.store.queries import runs_frame

COMPARED = ("finished", "diverged")  # a diverged run has no value and counts as a lost seed
RUN_ID = re.compile(r"\w+")  # a filter has an operator


@dataclass(frozen=True)
class Side:
    """name: A or B; text: as given by the user; runs: one row per run, as from `runs_frame`."""

    name: str
    text: str
    runs: pd.DataFrame

    @property
    def finished(self) -> pd.DataFrame:
        return self.runs[self.runs["status"] == "finished"]

    @property
    def statuses(self) -> dict[str, int]:
        """The number of runs with each status."""
        return {str(status): int(count) for status, count in self.runs["status"].value_counts().items()}


def find_sides(store: Store, texts: tuple[str, str], kind: str = "") -> tuple[Side, Side]:
    """The two sides, with runs of one kind.  kind: train or profile; by default the one that both sides have."""
    frames = [find_runs(store, text) for text in texts]
    kinds = [one for one in ([kind] if kind else KINDS) if all((frame["kind"] == one).any() for frame in frames)]
    if not kinds:
        found = " and ".join(sorted(set(pd.concat(frames)["kind"])))
        what = f"the two sides have no runs of one kind in common, only {found}"
        raise NothingMeasured(what, "compare runs of `train`, or runs of `profile`")
    a, b = (frame[frame["kind"] == kinds[0]].reset_index(drop=True) for frame in frames)
    if both := sorted(set(a["id"]) & set(b["id"])):
        more = f" and {len(both) - 1} more" if len(both) > 1 else ""
        raise UsageError(f"run {both[0]}{more} is on both sides", "choose sides that have no run in common")
    return Side("A", texts[0], a), Side("B", texts[1], b)


def find_runs(store: Store, text: str) -> pd.DataFrame:
    """Return the run with this id, or one run per fingerprint of those that match the filter."""
    if RUN_ID.fullmatch(text.strip()):
        wanted = store.find(text).id
        runs = runs_frame(store)
        return runs[runs["id"] == wanted]
    runs = runs_frame(store, where=parse_filter(text))
    if runs.empty:
        raise NothingMeasured(f"no run matches '{text}'", "loosen the filter; see `normbench runs list`")
    return tables.one_per_fingerprint(runs)
