"""What several errors of the store have in common."""

from __future__ import annotations

from normbench_cli.errors import DatabaseError

CHOOSE_ANOTHER = "name another file with --db or NORMBENCH_DB"
RESTORE_BACKUP = "restore a backup (see `normbench db backup`), or " + CHOOSE_ANOTHER


class NoDatabase(DatabaseError):
    """The database does not exist and this command does not create it."""
