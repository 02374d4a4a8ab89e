"""A recorded tuning: what was asked for, and the trials and final runs of each contender."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from normbench_cli.errors import DatabaseError
from normbench_cli.reporting.query import NothingMeasured
from normbench_cli.store import Store
from normbench_cli.store.errors import SEE_CHECK
from normbench_cli.store.queries import metrics_frame, runs_frame
from normbench_cli.store.schema import Run

KIND = "tune"
NAN = float("nan")


@dataclass(frozen=True)
class Trial:
    """status: finished, stopped, diverged or failed.  score: nan where it failed.  seconds: of training steps."""

    number: int
    values: Mapping[str, float]
    status: str
    score: float
    seconds: float
    run: str


@dataclass(frozen=True)
class Final:
    """value: of the test metric; nan where the run has none."""

    seed: int
    run: str
    status: str
    value: float


@dataclass(frozen=True)
class Contender:
    """chosen: the trial with the best validation score; None if none finished.  examples: of the validation set."""

    name: str
    examples: int
    trials: Sequence[Trial]
    chosen: Trial | None
    finals: Sequence[Final]


@dataclass(frozen=True)
class Tuning:
    """space: of each searched setting its least and largest value, and whether it is searched by its logarithm."""

    id: str
    status: str
    metric: str
    test_metric: str
    space: Mapping[str, tuple[float, float, bool]]
    budget: Mapping[str, float | None]
    sampler: str
    pruner: str
    trial_seed: int
    seeds: Sequence[int]
    contenders: Sequence[Contender]

    @property
    def runs(self) -> list[str]:
        made = [trial.run for one in self.contenders for trial in one.trials if trial.run]
        return made + [final.run for one in self.contenders for final in one.finals if final.run]


def newest_tuning(store: Store) -> str:
    """The id of the newest tuning."""
    rows = runs_frame(store, kind=KIND)
    if rows.empty:
        raise NothingMeasured("no tuning is recorded", "`normbench tune` makes one")
    return str(rows["id"].iloc[0])


def read_tuning(store: Store, text: str = "") -> Tuning:
    """The tuning with this id, or the newest."""
    row = store.find(text or newest_tuning(store))
    if row.kind != KIND:
        raise NothingMeasured(f"run {row.id} is a {row.kind}, not a tuning", "see `normbench tune --report`")
    try:
        return tuning_of(store, row)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DatabaseError(f"tuning {row.id}: what is recorded of it cannot be read: {error!r}", SEE_CHECK) from error


def tuning_of(store: Store, row: Run) -> Tuning:
    config: Mapping[str, Any] = row.config
    recorded: Sequence[Mapping[str, Any]] = row.details.get(KIND, [])
    metric = str(config["metric"])
    test_metric = metric.replace("validation/", "test/")
    finals = [str(final["run"]) for one in recorded for final in one["finals"] if final["run"]]
    frame = metrics_frame(store, finals, [test_metric])
    scores = dict(zip(frame["run_id"], frame["value"], strict=True))
    return Tuning(
        id=row.id,
        status=row.status,
        metric=metric,
        test_metric=test_metric,
        space={str(name): (float(low), float(high), bool(log)) for name, (low, high, log) in config["over"].items()},
        budget=dict(config["budget"]),
        sampler=str(config["sampler"]),
        pruner=str(config["pruner"]),
        trial_seed=int(config["trial_seed"]),
        seeds=[int(seed) for seed in config["seeds"]],
        contenders=[contender_of(one, scores) for one in recorded],
    )


def contender_of(recorded: Mapping[str, Any], scores: Mapping[str, float]) -> Contender:
    trials = [trial_of(one) for one in recorded["trials"]]
    chosen = next((trial for trial in trials if trial.number == recorded["chosen"]), None)
    finals = [
        Final(
            int(one["seed"]),
            str(one["run"]),
            str(one["status"]),
            float(scores.get(one["run"], NAN)) if one["status"] == "finished" else NAN,
        )
        for one in recorded["finals"]
    ]
    return Contender(str(recorded["name"]), int(recorded["examples"]), trials, chosen, finals)


def trial_of(one: Mapping[str, Any]) -> Trial:
    values = {str(name): float(value) for name, value in one["values"].items()}
    score = NAN if one["score"] is None else float(one["score"])
    return Trial(int(one["number"]), values, str(one["status"]), score, float(one["seconds"]), str(one["run"]))
