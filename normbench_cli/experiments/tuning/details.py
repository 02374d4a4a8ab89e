"""The record of a tuning in its row, as JSON: its runs, and the chosen settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from normbench_cli.experiments.result import RunResult
from normbench_cli.experiments.tuning.contest import Contender, Trial
from normbench_cli.experiments.tuning.request import TuneRequest

KIND = "tune"
Finals = Mapping[tuple[int, int | None], RunResult]  # by seed, and by fold of a cross-validation


def details_of(request: TuneRequest, contenders: Sequence[Contender], finals: Sequence[Finals]) -> dict[str, Any]:
    """The trials and final runs of each contender."""
    return {
        KIND: [
            contender_json(name, contender, request.folds_of(index), finals[index] if finals else {})
            for index, (name, contender) in enumerate(zip(request.names, contenders, strict=True))
        ]
    }


def contender_json(name: str, contender: Contender, folds: Sequence[int | None], finals: Finals) -> dict[str, Any]:
    """chosen: the number of a trial; for a cross-validation None, and chosen_by_fold has one for each fold."""
    chosen = [trial.number if trial else None for trial in map(contender.chosen_by, folds)]
    return {
        "name": name,
        "examples": contender.examples,
        "trials": [trial_json(trial) for trial in contender.trials],
        **({"chosen": chosen[0]} if folds[0] is None else {"chosen": None, "chosen_by_fold": chosen}),
        "finals": [
            {"seed": seed, "run": result.id, "status": result.status} | ({} if fold is None else {"fold": fold})
            for (seed, fold), result in finals.items()
        ],
    }


def trial_json(trial: Trial) -> dict[str, Any]:
    outcome = trial.outcome
    return {
        "number": trial.number,
        "values": dict(trial.values),
        "status": outcome.status,
        "score": None if outcome.status == "failed" else outcome.score,
        "seconds": round(outcome.seconds, 3),
        "epoch": outcome.epoch,
        "run": outcome.run_id,
        **({"folds": list(outcome.folds)} if outcome.folds else {}),
    }
