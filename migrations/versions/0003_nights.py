"""Nights: what the nightly benchmark measured, and what was decided about its measurements."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

ROW_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "nights",
        sa.Column("id", sa.String(8), nullable=False),
        sa.Column("suite", sa.String(500), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("revision", sa.String(64), nullable=False),
        sa.Column("verdict", sa.JSON(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.Column("heartbeat_at", sa.DateTime(), nullable=False),
        sa.Column("finished_at", sa.DateTime(), nullable=True),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("process_started", sa.Double(), nullable=False),
        sa.Column("environment_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["environment_id"], ["environments.id"], name="fk_nights_environment_id"),
        sa.PrimaryKeyConstraint("id", name="pk_nights"),
    )
    op.create_index("ix_nights_suite", "nights", ["suite"])
    op.create_index("ix_nights_environment_id", "nights", ["environment_id"])
    op.create_table(
        "night_values",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("night_id", sa.String(8), nullable=False),
        sa.Column("run_id", sa.String(8), nullable=True),
        sa.Column("cell", sa.String(500), nullable=False),
        sa.Column("metric", sa.String(200), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("unit", sa.String(20), nullable=False),
        sa.Column("environment_class", sa.String(64), nullable=False),
        sa.Column("recorded_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["night_id"], ["nights.id"], name="fk_night_values_night_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_night_values_run_id", ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name="pk_night_values"),
    )
    op.create_index("ix_night_values_cell_metric", "night_values", ["cell", "metric"])
    op.create_index("ix_night_values_night_id", "night_values", ["night_id"])
    op.create_index("ix_night_values_run_id", "night_values", ["run_id"])
    op.create_table(
        "night_decisions",
        sa.Column("id", ROW_ID, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("suite", sa.String(500), nullable=False),
        sa.Column("measurement", sa.String(700), nullable=False),
        sa.Column("environment_class", sa.String(64), nullable=False),
        sa.Column("until", sa.String(10), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("author", sa.String(255), nullable=False),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("made_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_night_decisions"),
    )
