"""Alembic's entry point: run the migrations on the given connection, in its transaction.

There is no alembic.ini; `normbench_cli.store.upgrade` sets everything.
"""

from __future__ import annotations

from alembic import context

from normbench_cli.store.schema import VERSION_TABLE, Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # SQLite alters a table by creating it anew
)
with context.begin_transaction():
    context.run_migrations()
