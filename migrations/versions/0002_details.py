"""Details of a run: what it was made of.  Runs recorded before have none, and keep their fingerprints.

The fingerprint of a newer run may cover its data and the source of its components too.  An older run is then a cell of
its own: what it was made of is not known, so it is not guessed.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("runs", sa.Column("details", sa.JSON(), nullable=True))  # in place: the table is not copied
