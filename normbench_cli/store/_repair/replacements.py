"""Replacements for damaged values: derived from other columns, or a neutral value.

A column without a rule cannot be reconstructed, so a row in which it is damaged is removed: a run without its settings,
a measurement without its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from normbench_cli.config import GRID_FIELDS
from normbench_cli.local_time import local_time
from normbench_cli.store.metric_names import MetricName, unit_of
from normbench_cli.store.rows import Row, facts_hash

Rule = Callable[[Row], Any]  # the row's undamaged values by column -> a value; a KeyError if there is none


def value(of: Any) -> Rule:
    return lambda _row: of


def setting(name: str) -> Rule:
    return lambda row: row["config"][name]


def first_of(*columns: str) -> Rule:
    """The first of these columns that is undamaged and not NULL."""

    def rule(row: Row) -> Any:
        found = [row[name] for name in columns if row.get(name) is not None]
        if not found:
            raise KeyError(columns[0])
        return found[0]

    return rule


def kind_of_run(row: Row) -> str:
    """The kind of a run, from the first word of its command line."""
    word = next(iter(row["argv"]), None)
    if word not in ("train", "profile"):
        raise KeyError("kind")
    return str(word)


def unit_of_row(row: Row) -> str:
    return unit_of(str(MetricName(row["split"], row["name"], row["condition"])))


PROCESS: Mapping[str, Rule] = {"host": value(""), "pid": value(0), "process_started": value(0.0), "message": value("")}
TIMES: Mapping[str, Rule] = {
    "started_at": first_of("heartbeat_at", "finished_at"),
    "heartbeat_at": first_of("finished_at", "started_at"),
    "finished_at": first_of("heartbeat_at", "started_at"),
}
RULES: Mapping[str, Mapping[str, Rule]] = {
    "environments": {"facts": value({}), "hash": lambda row: facts_hash(row["facts"])},
    "runs": {
        **PROCESS,
        **TIMES,
        "kind": kind_of_run,
        "fingerprint": value(""),  # so that the same cell is trained again
        "state": value("interrupted"),
        **{name: setting(name) for name in (*GRID_FIELDS, "seed")},
        "tag": value(""),
        "note": value(""),
        "argv": value([]),
        "details": value({}),
        "environment_id": value(0),  # does not exist; `repair_references` replaces it by an empty environment
    },
    # NULL is nan; if the row were removed, an earlier value would count as the last one
    "metrics": {"value": value(None), "unit": unit_of_row},
    "samples": {},
    "nights": {
        **PROCESS,
        **TIMES,
        "state": value("killed"),
        "revision": value(""),
        "verdict": value({}),
        "day": lambda row: local_time(row["started_at"]).date().isoformat(),
        "environment_id": value(0),
    },
    "night_values": {"value": value(None), "unit": value(""), "run_id": value(None)},
    "night_decisions": {"reason": value(""), "author": value(""), "host": value("")},
}


def repaired_row(table: str, damaged: list[str], sound: Row) -> Row | None:
    """New values for damaged columns; None if one of them cannot be reconstructed."""
    rules = RULES[table]
    try:
        return {name: rules[name](sound) for name in damaged}
    except KeyError:
        return None
