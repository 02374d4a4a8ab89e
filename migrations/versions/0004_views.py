"""Views for other programs (docs/database.md lists their columns), and how far a raw series was thinned."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Integer

revision = "0004"
down_revision = "0003"

FULL_NAME = """CASE WHEN split = '' THEN '' ELSE split || '/' END || name ||
    CASE WHEN condition = '' THEN '' ELSE '@' || condition END"""
SETTINGS = {  # beside the columns of the table; the columns' SQL types
    "recipe": "VARCHAR",
    "epochs": "INTEGER",
    "iterations": "INTEGER",
    "batch_size": "INTEGER",
    "optimizer": "VARCHAR",
    "lr": "DOUBLE PRECISION",
    "momentum": "DOUBLE PRECISION",
    "weight_decay": "DOUBLE PRECISION",
    "schedule": "VARCHAR",
    "amp": "VARCHAR",
}
COLUMNS = f"""run_id, {FULL_NAME} AS metric, split, name, condition,
    epoch, step, value, unit, recorded_at"""
LATEST_METRICS = f"""SELECT {COLUMNS}
FROM metrics WHERE id IN (SELECT max(id) FROM metrics GROUP BY run_id, split, name, condition)"""
# a database applies conditions on the columns of a window's partition before it sorts
CURVES = f"""SELECT {COLUMNS} FROM (SELECT metrics.*,
    row_number() OVER (PARTITION BY run_id, split, name, condition, epoch ORDER BY id DESC) AS newest
    FROM metrics WHERE epoch IS NOT NULL) AS ordered
WHERE newest = 1"""
LATEST = {  # column -> the metric's split and name
    "train_loss": ("train", "loss"),
    "train_accuracy": ("train", "accuracy"),
    "test_loss": ("test", "loss"),
    "test_accuracy": ("test", "accuracy"),
    "test_worst_group_accuracy": ("test", "worst_group_accuracy"),
    "step_time_ms": ("", "step_time_ms"),
    "samples_per_s": ("", "samples_per_s"),
    "peak_memory_bytes": ("", "peak_memory_bytes"),
}


def upgrade() -> None:
    op.add_column("samples", Column("thinned", Integer(), nullable=True))  # in place: the table is not copied
    sqlite = op.get_bind().dialect.name == "sqlite"
    for name, query in {
        "v_runs": runs_query(sqlite),
        "v_latest_metrics": LATEST_METRICS,
        "v_curves": CURVES,
        "v_nights": NIGHTS,
    }.items():
        op.execute(f"CREATE VIEW {name} AS\n{query}")


def runs_query(sqlite: bool) -> str:
    settings = [f"{setting(name, kind, sqlite)} AS {name}" for name, kind in SETTINGS.items()]
    latest = [f"({latest_value(split, name)}) AS {column}" for column, (split, name) in LATEST.items()]
    columns = [
        *("runs.id", "kind", "fingerprint", "state AS status", "message"),
        *("norm", "act", "model", "data", "objective", "seed", *settings, "tag", "note", *latest),
        *("started_at", "finished_at", "host", "environments.hash AS environment"),
    ]
    return f"SELECT {', '.join(columns)}\nFROM runs JOIN environments ON environments.id = runs.environment_id"


def setting(name: str, kind: str, sqlite: bool) -> str:
    """A value of a run's configuration; NULL where the configuration is damaged, as SQLite checks no JSON."""
    if sqlite:
        return f"CASE WHEN json_valid(config) THEN json_extract(config, '$.{name}') END"
    return f"CAST(config ->> '{name}' AS {kind})"


def latest_value(split: str, name: str) -> str:
    of_run = "metrics.run_id = runs.id AND metrics.condition = ''"
    return (
        f"SELECT value FROM metrics WHERE {of_run} AND metrics.split = '{split}' AND metrics.name = '{name}' "
        "ORDER BY metrics.id DESC LIMIT 1"
    )


NIGHTS = """SELECT nights.id AS night_id, day, suite, nights.state AS status, revision, cell, metric, repeat, value,
    unit, environment_class, run_id, nights.started_at, nights.finished_at, nights.host
FROM nights LEFT JOIN night_values ON night_values.night_id = nights.id"""
