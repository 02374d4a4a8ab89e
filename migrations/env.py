"""How Alembic runs the migrations: on the connection it is given, in that connection's transaction.

There is no alembic.ini; `normbench_cli.store.upgrade` sets everything.
"""

from __future__ import annotations

from alembic import context

from normbench_cli.store.schema import VERSION_TABLE, Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # SQLite changes a table by making it anew
)
with context.begin_transaction():
    context.run_migrations()
