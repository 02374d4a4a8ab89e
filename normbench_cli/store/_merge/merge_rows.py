"""Adding the rows of one database to another, within a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import Table, delete, insert, select, update

from normbench_cli.store._merge.collisions import Identity, assign_ids
from normbench_cli.store._merge.contents import (
    DECISIONS,
    METRICS,
    NIGHTS,
    NOTED,
    SAMPLES,
    TABLES,
    VALUES,
    Contents,
    columns_of,
)
from normbench_cli.store._merge.joining import by_time, join_rows, join_values, missing_rows, more_complete, with_marks
from normbench_cli.store._merge.merged import Merged
from normbench_cli.store.errors import DamagedValue
from normbench_cli.store.reading import ENVIRONMENTS, RUNS, fetch_each
from normbench_cli.store.rows import Row

ROWS_AT_ONCE = 10_000
MEASURED = columns_of(METRICS, "id", "run_id")  # the time is last
CHUNK = columns_of(SAMPLES, "id", "run_id")
NIGHT_VALUE = columns_of(VALUES, "id", "night_id", "run_id")
DECISION = columns_of(DECISIONS, "id")


class Merger:
    """Adds the contents of a source to a target; `done` records what was added."""

    def __init__(self, target: Contents, source: Contents, done: Merged) -> None:
        self.target, self.source, self.done = target, source, done
        self.write = target.session.execute
        self.environments: dict[str, int] = {}
        self.run_ids: dict[str, str] = {}  # in the source -> in the target
        self.joined: set[str] = set()

    def merge(self) -> dict[str, str]:
        """Merge; returns old -> new id of the target's renamed runs."""
        self.environments = self.add_environments()
        renamed = self.merge_owners(RUNS)
        self.merge_owners(NIGHTS)
        self.merge_decisions()
        return renamed

    def add(self, table: Table, rows: Iterable[Row], *, count: bool = True) -> None:
        remaining = iter(rows)
        while some := list(islice(remaining, ROWS_AT_ONCE)):
            self.write(insert(table), some)
            if count:
                self.done.rows[table.name] = self.done.rows.get(table.name, 0) + len(some)

    def add_environments(self) -> dict[str, int]:
        """Add environments with new hashes; returns hash -> row number for all."""
        new = {key: facts for key, facts in self.source.environments.items() if key not in self.target.environments}
        self.add(ENVIRONMENTS, ({"hash": key, "facts": facts} for key, facts in sorted(new.items())))
        return {key: number for number, key in self.write(select(ENVIRONMENTS.c.id, ENVIRONMENTS.c.hash))}

    def merge_owners(self, table: Table) -> dict[str, str]:
        """Merge runs with their measurements, or nights with their values."""
        here, there = self.target.owners[table.name], self.source.owners[table.name]
        ids = assign_ids([*here, *there])
        moved = {row["id"]: ids[identity] for identity, row in here.items() if row["id"] != ids[identity]}
        self.rename(table, moved)
        for identity, row in here.items():
            self.mark(table, identity, row, ids[identity])
        for identity, row in sorted(there.items(), key=lambda item: item[1]["started_at"]):
            try:
                self.merge_owner(table, identity, row, ids[identity])
            except DamagedValue as error:
                self.done.left_out[f"{table.name[:-1]} {row['id']}"] = (
                    f"its measurements are damaged, here or there: {error}"
                )
                continue
            if row["id"] != ids[identity]:
                self.done.renamed[row["id"]] = ids[identity]
        return moved

    def rename(self, table: Table, moved: Mapping[str, str]) -> None:
        """Change ids in the target.  A new id may be the old one of another row, so all get a temporary id first."""
        between = {old: f"#{number:07d}" for number, old in enumerate(moved)}
        for old, new in [*between.items(), *((between[old], new) for old, new in moved.items())]:
            (row,) = self.write(select(table).where(table.c.id == old)).mappings()
            self.add(table, [{**row, "id": new}], count=False)
            for child in TABLES.values():
                for column in child.columns:
                    if any(key.column is table.c.id for key in column.foreign_keys):
                        self.write(update(child).where(column == old).values({column.name: new}))
            self.write(delete(table).where(table.c.id == old))
        self.done.moved |= moved

    def mark(self, table: Table, identity: Identity, row: Row, new_id: str) -> None:
        """Store the original id of a renamed row; remove it if the row has its original id again."""
        noted = NOTED[table.name]
        marked = with_marks(row[noted], identity[0], new_id)
        if marked != row[noted]:
            self.write(update(table).where(table.c.id == new_id).values({noted: marked}))
            row[noted] = marked
        row["id"] = new_id

    def merge_owner(self, table: Table, identity: Identity, row: Row, new_id: str) -> None:
        known = self.target.owners[table.name].get(identity)
        joined = row if known is None else join_rows(known, row)
        if table is RUNS:
            measured = self.source.belongings(METRICS, row["id"], MEASURED)
            chunks = self.chunks(self.source, row["id"])
            own = [] if known is None else self.chunks(self.target, new_id)
            present = [] if known is None else self.target.belongings(METRICS, new_id, MEASURED)
            chosen = chunks if known is None else more_complete(own, chunks)
            joined = {**joined, "details": with_marks(joined["details"], identity[0], new_id, chosen)}
            self.put(table, known, joined, new_id)
            self.add_metrics(new_id, present, measured, new=known is None)
            if chosen is not own:
                self.write(delete(SAMPLES).where(SAMPLES.c.run_id == new_id))
                self.add(SAMPLES, ({**chunk, "run_id": new_id} for chunk in chosen))
            self.run_ids[row["id"]] = new_id
        else:
            values = self.source.belongings(VALUES, row["id"], [*NIGHT_VALUE, "run_id"])
            own_values = self.target.belongings(VALUES, new_id, [*NIGHT_VALUE, "run_id"])
            self.put(table, known, {**joined, "verdict": with_marks(joined["verdict"], identity[0], new_id)}, new_id)
            self.add_values(new_id, own_values, values)

    def put(self, table: Table, known: Row | None, row: Row, new_id: str) -> None:
        written = {**row, "id": new_id, "environment_id": self.environments[row["environment_id"]]}
        if known is None:
            self.add(table, [written])
            self.done.added += [new_id] * (table is RUNS)
        elif {**known, "id": new_id} != {**row, "id": new_id}:
            self.write(update(table).where(table.c.id == new_id).values(written))
            self.note_update(table, new_id)

    def note_update(self, table: Table, new_id: str) -> None:
        if table is RUNS and new_id not in self.joined:
            self.joined.add(new_id)
            self.done.updated.append(new_id)

    def chunks(self, contents: Contents, run_id: str) -> list[Row]:
        return [dict(zip(CHUNK, row, strict=True)) for row in contents.belongings(SAMPLES, run_id, CHUNK)]

    def add_metrics(
        self, run_id: str, present: Sequence[tuple[Any, ...]], measured: Sequence[tuple[Any, ...]], *, new: bool
    ) -> None:
        """Add metrics; rewrite all in time order if some precede present ones, as the last row of a name counts."""
        more = list(measured) if new else sorted(missing_rows(present, measured), key=by_time)
        if more and not new:
            self.note_update(RUNS, run_id)
        if more and present and by_time(more[0]) < max(map(by_time, missing_rows([], present))):
            self.write(delete(METRICS).where(METRICS.c.run_id == run_id))
            whole = sorted([*missing_rows([], present), *more], key=by_time)
            self.add(METRICS, named(MEASURED, whole, run_id=run_id), count=False)
            self.done.rows[METRICS.name] = self.done.rows.get(METRICS.name, 0) + len(more)
        else:
            self.add(METRICS, named(MEASURED, more, run_id=run_id))

    def add_values(self, night_id: str, own: Sequence[tuple[Any, ...]], found: Sequence[tuple[Any, ...]]) -> None:
        """Add what a night measured; a value whose run has been removed has no run."""
        theirs = [(*row[:-1], self.run_ids.get(row[-1])) for row in found]
        joined = join_values(own, theirs)
        more = missing_rows(own, joined)
        if len(more) > len(joined) - len(own):  # a present row gets its run
            self.write(delete(VALUES).where(VALUES.c.night_id == night_id))
            more = joined
        self.add(VALUES, named([*NIGHT_VALUE, "run_id"], more, night_id=night_id), count=False)
        self.done.rows[VALUES.name] = self.done.rows.get(VALUES.name, 0) + len(joined) - len(own)

    def merge_decisions(self) -> None:
        sides = [rows_of_table(side, self.done.left_out) for side in (self.target, self.source)]
        self.add(DECISIONS, named(DECISION, sorted(missing_rows(*sides), key=by_time)))


def named(columns: Sequence[str], rows: Iterable[tuple[Any, ...]], **more: Any) -> Iterator[Row]:
    return (dict(zip(columns, row, strict=True)) | more for row in rows)


def rows_of_table(contents: Contents, left_out: dict[str, str]) -> list[tuple[Any, ...]]:
    """The undamaged decisions of a database."""
    found, problems = fetch_each(contents.session, select(*(DECISIONS.c[name] for name in DECISION)), DECISIONS)
    left_out |= problems
    return [tuple(row) for row in found]
