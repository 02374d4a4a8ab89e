"""Export of a database, or some of its runs, as a compressed SQLite file that `db merge` can merge elsewhere.

Folders of this machine mean nothing elsewhere, so only the last part of a recorded path is kept.
"""

from __future__ import annotations

import lzma
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from sqlalchemy import delete

from normbench_cli.errors import DatabaseError
from normbench_cli.store._merge.contents import SAMPLES, Contents, read_contents
from normbench_cli.store._merge.merge_rows import Merger
from normbench_cli.store._merge.merged import Merged
from normbench_cli.store.file_errors import SQLITE_ERRORS
from normbench_cli.store.reading import RUNS
from normbench_cli.store.rows import Row
from normbench_cli.store.sqlite_file import connect
from normbench_cli.store.store import Store

NAME = "normbench.db.xz"  # `db merge FOLDER` finds it
DROPPED = "dropped_indexes"  # the table of the exported file that lists its missing indexes


def export_database(store: Store, folder: Path, run_ids: list[str] | None, *, series: bool) -> int:
    """Write the file; returns its number of runs.  run_ids: only these, without nights; None: everything."""
    path, done = folder.absolute() / "normbench.db", Merged(store.location.shown)
    with store.reading() as theirs, Store.open(str(path), sweep=False) as target:
        source = portable(read_contents(theirs))
        with target.writing(alone=True) as session:
            if run_ids is None:
                Merger(read_contents(session), source, done).merge()
            else:
                merger = Merger(read_contents(session), only(source, run_ids), done)
                merger.environments = merger.add_environments()
                merger.merge_owners(RUNS)
            if not series:
                session.execute(delete(SAMPLES))
        store.left_out |= source.left_out | done.left_out
    with closing(connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")  # a single file, without a log
        drop_indexes(connection)
        connection.execute("VACUUM")
    compress(path, folder / NAME)
    return len(done.added)


def drop_indexes(connection: sqlite3.Connection) -> None:
    """Drop the indexes, a sixth of the compressed file, and list them for `restore_indexes`."""
    found = connection.execute(
        "SELECT indexes.name, indexes.tbl_name, columns.name FROM sqlite_master AS indexes"
        " JOIN pragma_index_info(indexes.name) AS columns"
        " WHERE indexes.type = 'index' AND indexes.sql IS NOT NULL ORDER BY indexes.name, columns.seqno"
    ).fetchall()
    connection.execute(f"CREATE TABLE {DROPPED} (name TEXT, tbl_name TEXT, column_name TEXT)")
    connection.executemany(f"INSERT INTO {DROPPED} VALUES (?, ?, ?)", found)
    for name in {name for name, _, _ in found}:
        connection.execute(f"DROP INDEX {quoted(name)}")


def restore_indexes(connection: sqlite3.Connection) -> None:
    """Create the dropped indexes again.  The file may come from anywhere, so it lists names, not statements to run."""
    columns: dict[tuple[str, str], list[str]] = {}
    for name, table, column in connection.execute(f"SELECT * FROM {DROPPED} ORDER BY rowid"):
        columns.setdefault((name, table), []).append(quoted(column))
    for (name, table), of in columns.items():
        connection.execute(f"CREATE INDEX {quoted(name)} ON {quoted(table)} ({', '.join(of)})")
    connection.execute(f"DROP TABLE {DROPPED}")


def quoted(name: str) -> str:
    """A name of a table, column or index within an SQL statement."""
    return '"' + name.replace('"', '""') + '"'


def compress(path: Path, compressed: Path) -> None:
    """Compress a file and remove the original."""
    with path.open("rb") as source, lzma.open(compressed, "wb", preset=9) as target:
        shutil.copyfileobj(source, target)
    path.unlink()


def decompress(compressed: Path, path: Path) -> Path:
    """Decompress a database into a file of its own."""
    try:
        with lzma.open(compressed) as source, path.open("wb") as target:
            shutil.copyfileobj(source, target)
    except (lzma.LZMAError, EOFError) as error:
        raise DatabaseError(
            f"{compressed} is damaged: {error}", "export it again with `normbench db export`"
        ) from error
    with suppress(*SQLITE_ERRORS), closing(connect(path)) as connection:  # opening it for the merge reports them
        restore_indexes(connection)
    return path


def only(contents: Contents, run_ids: list[str]) -> Contents:
    """Only these runs and their environments."""
    chosen = set(run_ids)
    runs = {one: row for one, row in contents.owners[RUNS.name].items() if row["id"] in chosen}
    used = {row["environment_id"] for row in runs.values()}
    environments = {key: facts for key, facts in contents.environments.items() if key in used}
    return replace(contents, environments=environments, owners=contents.owners | {RUNS.name: runs})


def portable(contents: Contents) -> Contents:
    runs = {one: portable_run(row) for one, row in contents.owners[RUNS.name].items()}
    return replace(contents, owners=contents.owners | {RUNS.name: runs})


def portable_run(row: Row) -> Row:
    """Remove folders of this machine from a run's command line and data."""
    details, data = row["details"], row["details"].get("data")
    if isinstance(data, dict) and "source" in data:
        details = {**details, "data": {**data, "source": last_part(data["source"])}}
    return {**row, "argv": [last_part(one) for one in row["argv"]], "details": details}


def last_part(text: Any) -> Any:
    """The last part of an absolute path; anything else is unchanged."""
    is_path = isinstance(text, str) and PurePath(text).is_absolute()
    return PurePath(text).name if is_path else text
