"""The errors of the store, and remedies that several of them share."""

from __future__ import annotations

from normbench_cli.errors import DatabaseError, NormbenchError

CHOOSE_ANOTHER = "name another file with --db or NORMBENCH_DB"
RESTORE_BACKUP = "restore a backup (see `normbench db backup`), or " + CHOOSE_ANOTHER
SEE_CHECK = "`normbench db check` finds all damage and says what to do"


class NoDatabase(DatabaseError):
    """The database does not exist, and this command does not create it."""


class DamagedValue(DatabaseError):
    """A value in the database is invalid for its column, or cannot be read at all."""


class RefusedRow(DatabaseError):
    """The database refuses a row, such as one of a run that was removed."""


class Taken(NormbenchError):
    """Another process is executing the same cell, or has just done so."""

    fingerprint = ""  # of the cell, as it would be recorded now
