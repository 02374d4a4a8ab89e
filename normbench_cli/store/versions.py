"""Schema versions: a database's version, and whether this program can use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from normbench_cli.errors import DatabaseError
from normbench_cli.store.errors import RESTORE_BACKUP
from normbench_cli.store.schema import HEAD


def single_version(versions: Sequence[Any], shown: str) -> str:
    """The only version in a database's version table.  One above HEAD belongs to a newer normbench."""
    if len(versions) != 1:
        raise DatabaseError(f"the database {shown} has {len(versions)} schema versions, not one", RESTORE_BACKUP)
    version = versions[0]
    if not isinstance(version, str):  # SQLite stores values of any type
        raise DatabaseError(f"the database {shown} has the schema version {ascii(version)[:60]}", RESTORE_BACKUP)
    if version > HEAD:
        raise DatabaseError(
            f"the database {shown} belongs to a newer normbench (schema {version}, this one knows {HEAD})",
            "upgrade normbench",
        )
    return version


def require_head(version: str, shown: str) -> None:
    if version != HEAD:
        raise DatabaseError(
            f"the database {shown} belongs to an older normbench (schema {version}, now {HEAD})",
            "run `normbench db upgrade`, which makes a backup first",
        )
