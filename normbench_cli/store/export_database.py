"""Export of a database, or some of its runs, as a compressed SQLite file that `db merge` can merge elsewhere.

Folders of this machine mean nothing elsewhere, so only the last part of a recorded path is kept.
"""

from __future__ import annotations

import lzma
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from sqlalchemy import delete

from normbench_cli.errors import DatabaseError
from normbench_cli.store._merge.contents import SAMPLES, Contents, read_contents
from normbench_cli.store._merge.merge_rows import Merger
from normbench_cli.store._merge.merged import Merged
from normbench_cli.store.reading import RUNS
from normbench_cli.store.rows import Row
from normbench_cli.store.sqlite_file import connect
from normbench_cli.store.store import Store

NAME = "normbench.db.xz"  # `db merge FOLDER` finds it


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
        connection.execute("VACUUM")
    compress(path, folder / NAME)
    return len(done.added)


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
