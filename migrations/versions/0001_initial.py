"""The first tables: environments, runs, metrics, samples."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "environments",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_environments"),
        sa.UniqueConstraint("hash", name="uq_environments_hash"),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(8), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        *[sa.Column(name, sa.String(500), nullable=False) for name in ("norm", "act", "model", "data", "objective")],
        sa.Column("seed", sa.Integer(), nullable=True),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.Column("tag", sa.String(200), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("argv", sa.JSON(), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.Column("heartbeat_at", sa.DateTime(), nullable=False),
        sa.Column("finished_at", sa.DateTime(), nullable=True),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("process_started", sa.Double(), nullable=False),
        sa.Column("environment_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.ForeignKeyConstraint(["environment_id"], ["environments.id"], name="fk_runs_environment_id"),
    )
    for column in ("fingerprint", "state", "tag", "environment_id"):
        op.create_index(f"ix_runs_{column}", "runs", [column])
    op.create_table(
        "metrics",
        sa.Column("id", row_id, nullable=False),
        sa.Column("run_id", sa.String(8), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=True),
        sa.Column("step", sa.Integer(), nullable=True),
        sa.Column("split", sa.String(20), nullable=False),
        sa.Column("condition", sa.String(200), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("unit", sa.String(20), nullable=False),
        sa.Column("recorded_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_metrics"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_metrics_run_id", ondelete="CASCADE"),
    )
    op.create_index("ix_metrics_run_id_split_name_condition", "metrics", ["run_id", "split", "name", "condition"])
    op.create_table(
        "samples",
        sa.Column("id", row_id, nullable=False),
        sa.Column("run_id", sa.String(8), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=True),
        sa.Column("first_step", sa.Integer(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_samples"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_samples_run_id", ondelete="CASCADE"),
    )
    op.create_index("ix_samples_run_id_name", "samples", ["run_id", "name"])
