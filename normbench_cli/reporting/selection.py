"""Which runs a report counts, and how they are grouped."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from normbench_cli.config import FIELDS, GRID_FIELDS
from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import suggest
from normbench_cli.reporting import tables
from normbench_cli.reporting.query import NothingMeasured, ReportQuery
from normbench_cli.store import Store
from normbench_cli.store.filter import parse_where
from normbench_cli.store.queries import runs_frame

# shown when all settings are equal; the objective is almost always plain loss minimization
SHOWN_BY_DEFAULT = [name for name in GRID_FIELDS if name != "objective"]


@dataclass(frozen=True)
class Selection:
    """The runs with their group, and the groups.

    fields: the settings of every group; shown: those of them that tell the groups apart, the columns of the table;
    varying: the settings that differ between runs, the seed aside.
    """

    runs: pd.DataFrame
    groups: pd.DataFrame
    fields: list[str]
    shown: list[str]
    varying: list[str]

    @property
    def finished(self) -> pd.DataFrame:
        """The finished runs: only their values enter a mean."""
        return self.runs[self.runs["status"] == "finished"]

    @property
    def pooled(self) -> list[str]:
        """Settings that differ between runs of one group."""
        return [name for name in self.varying if name not in self.fields]

    @property
    def common(self) -> list[str]:
        """Settings of the groups that no table column shows."""
        return [name for name in self.fields if name not in self.shown]


def select_runs(store: Store, query: ReportQuery) -> Selection:
    for name in query.by:
        if name not in FIELDS:
            raise UsageError(f"--by {name}: there is no such setting", suggest(name, list(FIELDS)))
    runs = runs_frame(store, kind=query.kind, tag=query.tag, where=parse_where(query.where))
    if runs.empty:
        if query.where or query.tag:
            do = "loosen --where or --tag; see `normbench runs list`"
            raise NothingMeasured(f"no run of kind '{query.kind}' matches", do)
        raise NothingMeasured(f"no run of kind '{query.kind}' is recorded", "`normbench train` makes some")
    runs = tables.one_per_fingerprint(runs)
    varying = tables.varying_fields(runs)
    fields = list(query.by) or [*GRID_FIELDS, *(name for name in varying if name not in GRID_FIELDS)]
    shown = list(query.by) or varying or SHOWN_BY_DEFAULT
    runs, groups = tables.assign_groups(runs, fields)
    return Selection(runs, groups, fields, shown, varying)
