"""The results database: runs, their measurements, and where they ran.  Never imports torch.

Seven tables (`schema`)::

    environments   the facts of code and machine      one row per distinct set of facts, shared by runs
    runs           the settings of a run,             many runs per environment
                   its status, its process
    metrics        one measured value per row         many rows per run; deleted with it
    samples        one chunk of a raw series per row  many rows per run; deleted with it
    nights         one execution of a nightly suite
    night_values   one value measured by a night      many rows per night; deleted with it
    night_decisions  a baseline accepted, a mute      one row per decision

Metrics are in long form: a row has the run, epoch, step, split, name, condition (an attack, a fold) and the value.
Rows are only added, and the last row of a name counts; `queries` returns them as DataFrames.

`Store` (`store`, `recording`) writes: every method is one short transaction, so that concurrent runs do not block each
other.  While the database cannot be written, `_spool` keeps the records in a file, to be written later.
`values` defines the valid values of each column, and `reading` reads rows in which any value may be damaged.
`location` identifies the database, `sqlite_file` inspects a file before it is opened (`network_folder`: whether it is
on a network disk), `connection` makes SQLAlchemy engines, also for a PostgreSQL `server`, and turns their errors into
one line (`file_errors`).  `reservations` let processes on any machines share a grid.  `upgrade` creates and migrates
databases with Alembic (``migrations/``), after a `backup`.  `check` looks for damage, `processes` for dead runs.

Maintenance: `repair` fixes what `check` finds (`_repair`), `merge` joins databases (`_merge`), `retention` selects old
runs, `thin` thins raw series, `space` shrinks the file, `export` writes tables as files.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from normbench_cli.store import (
        backup,
        check,
        export,
        filter,
        location,
        merge,
        queries,
        repair,
        retention,
        schema,
        space,
        thin,
        upgrade,
    )
    from normbench_cli.store.store import Store

__all__ = [
    "Store",
    "backup",
    "check",
    "export",
    "filter",
    "location",
    "merge",
    "queries",
    "repair",
    "retention",
    "schema",
    "space",
    "thin",
    "upgrade",
]


def __getattr__(name: str) -> object:
    """Import `Store` and these modules on first use, as they load SQLAlchemy; `status` and `metric_names` do not."""
    if name == "Store":
        return import_module("normbench_cli.store.store").Store
    if name in __all__:
        return import_module(f"normbench_cli.store.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
