"""Recorded profiles: which runs were interleaved, when, where and with what, and their samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy import select

from normbench_cli.local_time import local_time
from normbench_cli.registry.spec import format_value
from normbench_cli.store import Store
from normbench_cli.store.queries import runs_frame, series, series_names
from normbench_cli.store.reading import ENVIRONMENTS, RUNS, fetch_each
from normbench_cli.store.schema import Environment, Run

TIME, CALIBRATION = "step_time_ms", "calibration_ms"
FACTS = ("date", "host", "machine", "threads", "torch", "version")  # in addition to the settings
NOWHERE: tuple[tuple[Any, ...], Mapping[str, Any]] = ((), {})


@dataclass(frozen=True)
class Profile:
    """One execution of `normbench profile`.  runs: by norm; settings: those of its runs except the norm."""

    runs: Mapping[str, str]
    started: datetime
    settings: Mapping[str, Any]
    environment: Mapping[str, Any]

    def fact(self, name: str) -> str:
        """A setting, or one of FACTS, as text for a column name."""
        if name not in FACTS:
            return format_value(self.settings.get(name))
        versions = self.environment.get("versions")
        torch = versions.get("torch") if isinstance(versions, Mapping) else None
        release, revision = self.environment.get("normbench", "?"), str(self.environment.get("git_sha", ""))[:9]
        found = {
            "date": f"{local_time(self.started):%Y-%m-%d}",
            "machine": self.environment.get("device_name"),
            "torch": torch,
            "version": f"{release} {revision}".strip(),
        }
        return format_value(found.get(name, self.environment.get(name)) or "?")


@dataclass(frozen=True)
class Samples:
    """A contender's times at one place in milliseconds, and those of the calibration after each round, if known."""

    times: np.ndarray
    calibration: np.ndarray

    @property
    def calibrated(self) -> np.ndarray:
        """The times in units of the calibration, which cancels the machine's momentary speed."""
        return self.times / self.calibration if len(self.calibration) else self.times


def read_profiles(store: Store) -> list[Profile]:
    """All profiles with a finished run, oldest first."""
    runs = runs_frame(store, kind="profile")
    runs = runs[runs["status"] == "finished"].sort_values(["started_at", "id"], kind="stable")
    known = where_made(store)
    groups: dict[Any, list[list[Any]]] = {}  # process -> its profiles -> their runs
    for run in runs.to_dict("records"):
        process, _ = known.get(run["id"], NOWHERE)
        of_process = groups.setdefault((*process, run["model"], run["act"], run["data"]), [])
        if not (of_process and begins_with(run, of_process[-1])):
            of_process.append([])
        of_process[-1].append(run)
    found = [profile_of(together, known) for of_process in groups.values() for together in of_process]
    return sorted(found, key=lambda profile: profile.started)


def begins_with(run: Mapping[str, Any], together: list[Mapping[str, Any]]) -> bool:
    """Whether a run belongs to a profile: it started before the first of its runs ended, and has another norm."""
    ended = min((one["finished_at"] for one in together if one["finished_at"]), default=run["started_at"])
    return run["started_at"] <= ended and run["norm"] not in {one["norm"] for one in together}


def where_made(store: Store) -> dict[str, tuple[tuple[Any, ...], Mapping[str, Any]]]:
    """Run -> its process, and the facts about code and machine."""
    with store.reading() as session:
        facts = dict(map(tuple, fetch_each(session, select(Environment.id, Environment.facts), ENVIRONMENTS)[0]))
        columns = (Run.id, Run.host, Run.pid, Run.process_started, Run.environment_id)
        rows, _ = fetch_each(session, select(*columns).where(Run.kind == "profile"), RUNS)
    return {row[0]: (tuple(row[1:4]), facts.get(row[4], {})) for row in rows}


def profile_of(runs: list[Mapping[str, Any]], known: Mapping[str, Any]) -> Profile:
    first = runs[0]
    settings = {name: value for name, value in first["config"].items() if name != "norm"}
    by_norm = {str(run["norm"]): str(run["id"]) for run in runs}
    return Profile(by_norm, first["started_at"], settings, known.get(first["id"], NOWHERE)[1])


def places_of(store: Store, run_id: str) -> Iterator[str]:
    """The shapes and models at which a run was timed."""
    for name in series_names(store, run_id):
        metric, _, place = name.partition("@")
        if metric == TIME:
            yield place


def times_of(store: Store, run_id: str, place: str) -> np.ndarray:
    times: np.ndarray = series(store, run_id, f"{TIME}@{place}").to_numpy("float64")
    return times


def samples_of(store: Store, run_id: str, place: str) -> Samples:
    """The calibration also has samples before the first round and after the last, which are dropped."""
    times = times_of(store, run_id, place)
    calibration = series(store, run_id, f"{CALIBRATION}@{place}").to_numpy("float64")
    ends, odd = divmod(len(calibration) - len(times), 2)
    between = calibration[ends : len(calibration) - ends] if ends >= 0 and not odd else calibration[:0]
    return Samples(times, between if len(between) == len(times) and (between > 0).all() else calibration[:0])
