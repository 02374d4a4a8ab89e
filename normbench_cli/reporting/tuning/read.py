"""A recorded tuning: its configuration, and the trials and final runs of each contender."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from normbench_cli.errors import DatabaseError
from normbench_cli.reporting.query import NothingMeasured
from normbench_cli.reporting.tuning.finals import Final, finals_of
from normbench_cli.store import Store
from normbench_cli.store.errors import SEE_CHECK
from normbench_cli.store.queries import metrics_frame, runs_frame
from normbench_cli.store.schema import Run

KIND = "tune"
NAN = float("nan")


@dataclass(frozen=True)
class Trial:
    """values: nan for settings not searched for this contender.  status: finished, stopped, diverged or failed.
    score: nan if failed.  seconds: of training steps.  folds: the score of each fold of a cross-validation."""

    number: int
    values: Mapping[str, float]
    status: str
    score: float
    seconds: float
    run: str
    folds: tuple[float, ...] = ()


@dataclass(frozen=True)
class Contender:
    """chosen: the trial with the best validation score; None if none finished, and for a cross-validation.
    by_fold: for a cross-validation, the number of the trial that each fold chose.  examples: of the validation set, or
    of all folds' sets.
    """

    name: str
    examples: int
    trials: Sequence[Trial]
    chosen: Trial | None
    finals: Sequence[Final]
    by_fold: Sequence[int | None] = ()


@dataclass(frozen=True)
class Tuning:
    """space: the lower and upper bound of each searched setting, and whether it is searched on a log scale."""

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
        return made + [run for one in self.contenders for final in one.finals for run in final.runs if run]


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
        contenders=[contender_of(one, list(config["over"]), scores) for one in recorded],
    )


def contender_of(recorded: Mapping[str, Any], searched: Sequence[str], scores: Mapping[str, float]) -> Contender:
    trials = [trial_of(one, searched) for one in recorded["trials"]]
    chosen = next((trial for trial in trials if trial.number == recorded["chosen"]), None)
    by_fold = [None if number is None else int(number) for number in recorded.get("chosen_by_fold", [])]
    finals = finals_of(recorded["finals"], len(by_fold) or 1, scores)
    return Contender(str(recorded["name"]), int(recorded["examples"]), trials, chosen, finals, by_fold)


def trial_of(one: Mapping[str, Any], searched: Sequence[str]) -> Trial:
    values = {name: float(one["values"].get(name, NAN)) for name in searched}
    score = NAN if one["score"] is None else float(one["score"])
    folds = tuple(float(score) for score in one.get("folds", ()))
    return Trial(int(one["number"]), values, str(one["status"]), score, float(one["seconds"]), str(one["run"]), folds)
