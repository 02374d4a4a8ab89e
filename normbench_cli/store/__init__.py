"""The results database: runs, what they measured, and where they ran.  Never imports torch.

Seven tables (`schema`)::

    environments   the facts of code and machine      a row per distinct set of facts, shared by runs
    runs           what a run was asked to do,        many runs to an environment
                   its status, its process
    metrics        one measured value a row           many rows to a run; deleted with it
    samples        a chunk of a raw series a row      many rows to a run; deleted with it
    nights         one execution of a nightly suite
    night_values   one value that a night measured    many rows to a night; deleted with it
    night_decisions  a baseline accepted, a mute      a row a decision

Values are long: a metric row has the run, epoch, step, split, name, condition (an attack, a fold) and the value.  Rows
are only added, and the last row of a name counts; `queries` gives them as DataFrames.

`Store` (`store`, `recording`) writes: every method is one short transaction, so that runs side by side do not wait for
each other.  While the database cannot be written, `_spool` keeps the records in a file, to be written later.
`values` says what a value of each column may be, and `reading` reads rows of which any value may be damaged.
`location` says which database is meant, `sqlite_file` inspects a file before it is opened (`network_folder`: whose disk
it is on), `connection` makes SQLAlchemy engines, also for a PostgreSQL `server`, and turns their errors into one line
(`file_errors`).  `reservations` let processes on any machines share a grid.  `upgrade` makes and migrates databases by
Alembic (``migrations/``), after a `backup`.  `check` looks for damage, `processes` for runs whose process is gone.

Care: `repair` fixes what `check` finds (`_repair`), `merge` joins databases (`_merge`), `retention` says which runs are
old, `thin` thins raw series, `space` shrinks the file, `export` writes tables as files.
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
    """`Store` and these modules on first use: they load SQLAlchemy.  `store.status` and `store.metric_names` do not."""
    if name == "Store":
        return import_module("normbench_cli.store.store").Store
    if name in __all__:
        return import_module(f"normbench_cli.store.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
