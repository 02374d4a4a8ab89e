"""The runs that a report is based on, and their groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from normbench_cli.config import FIELDS, GRID_FIELDS
from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import suggest
from normbench_cli.reporting import tables
from normbench_cli.reporting.data_note import Details, disambiguate_data
from normbench_cli.reporting.query import NothingMeasured, ReportQuery
from normbench_cli.store import Store
from normbench_cli.store.filter import parse_where
from normbench_cli.store.queries import details_of, runs_frame

# shown when all settings are equal; the objective is almost always plain loss minimization
SHOWN_BY_DEFAULT = [name for name in GRID_FIELDS if name != "objective"]


@dataclass(frozen=True)
class Selection:
    """The runs with their group, and the groups.

    fields: the settings of every group; shown: those that distinguish the groups, the columns of the table;
    varying: the settings that differ between runs, the seed aside; across: those whose values are columns;
    details: the recorded details of each run.
    """

    runs: pd.DataFrame
    groups: pd.DataFrame
    fields: list[str]
    shown: list[str]
    varying: list[str]
    across: list[str] = field(default_factory=list)
    details: Details = field(default_factory=dict)

    @property
    def finished(self) -> pd.DataFrame:
        """The finished runs: only their values count in a mean."""
        return self.runs[self.runs["status"] == "finished"]

    @property
    def pooled(self) -> list[str]:
        """Settings that differ between runs of one group."""
        return [name for name in self.varying if name not in self.fields]

    @property
    def common(self) -> list[str]:
        """Settings that all runs share and that no table column shows."""
        known = [name for name in GRID_FIELDS if name not in self.varying and self.runs[name].iloc[0] is not None]
        alike = [name for name in known if name not in self.fields]
        return [name for name in self.fields if name not in (*self.shown, *self.across)] + alike

    def blocks(self, fields: Sequence[str]) -> list[list[int]]:
        """The groups that agree in these settings, as far as they have them."""
        fields = [name for name in fields if name in self.fields]
        if not fields:
            return [self.groups.index.tolist()]
        found: dict[tuple[Any, ...], list[int]] = {}
        for group, key in zip(self.groups.index, self.groups[fields].itertuples(index=False), strict=True):
            found.setdefault(tuple(key), []).append(group)
        return list(found.values())


def select_runs(store: Store, query: ReportQuery) -> Selection:
    for option, names in (("--by", query.by), ("--across", query.across)):
        for name in names:
            if name not in FIELDS:
                raise UsageError(f"{option} {name}: there is no such setting", suggest(name, list(FIELDS)))
    if both := [name for name in query.by if name in query.across]:
        raise UsageError(f"{both[0]} is in --by and in --across", "give it to one of them")
    runs = runs_frame(store, kind=query.kind, tag=query.tag, where=parse_where(query.where))
    if runs.empty:
        if query.where or query.tag:
            do = "loosen --where or --tag; see `normbench runs list`"
            raise NothingMeasured(f"no run of kind '{query.kind}' matches", do)
        raise NothingMeasured(f"no run of kind '{query.kind}' is recorded", f"`normbench {query.kind}` makes some")
    runs = tables.one_per_fingerprint(runs)
    details = details_of(store, runs["id"].tolist())
    runs = disambiguate_data(details, runs)
    varying = tables.varying_fields(runs)
    usual = [*GRID_FIELDS, *(name for name in varying if name not in GRID_FIELDS)]
    fields = list(query.by) or [name for name in usual if name not in query.across]
    telling = [name for name in query.by if runs[name].nunique(dropna=False) > 1] or list(query.by)
    shown = telling or [name for name in varying if name not in query.across]
    shown = shown or [name for name in SHOWN_BY_DEFAULT if name not in query.across]
    fields += query.across
    runs, groups = tables.assign_groups(runs, fields)
    return Selection(runs, groups, fields, shown, varying, list(query.across), details)
