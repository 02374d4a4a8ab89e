"""What a tuning is asked for, as a value that checks itself; in the database it is the configuration of a run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from normbench_cli.config import FIELDS, GRID_FIELDS, RunConfig, make_config
from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.experiments.tuning.space import Range, Space
from normbench_cli.registry.trust import Trust
from normbench_cli.store.metric_names import parse_metric

Sampler = Literal["quasi-random", "tpe"]
Pruner = Literal["none", "median", "asha"]
SAMPLERS: tuple[Sampler, ...] = ("quasi-random", "tpe")
PRUNERS: tuple[Pruner, ...] = ("none", "median", "asha")
MOST_TRIALS = 10_000


@dataclass(frozen=True)
class Budget:
    """What every contender may use: so many trials, or seconds of training steps."""

    trials: int | None = None
    seconds: float | None = None

    def is_left(self, trials: int, seconds: float) -> bool:
        """Whether another trial may begin after these."""
        if self.trials is not None:
            return trials < self.trials
        return seconds < (self.seconds or 0) and trials < MOST_TRIALS


@dataclass(frozen=True)
class TuneRequest:
    """Contenders are configurations; what a trial changes in them is named in `space`.

    validation: the fraction of the training set that trials hold out, where the data set has no validation set.
    trial_seed: of all trials.  seeds: of the final runs; none of them is the trials'.
    """

    contenders: Sequence[RunConfig]
    space: Space
    budget: Budget
    sampler: Sampler = "quasi-random"
    pruner: Pruner = "none"
    metric: str = "validation/accuracy"
    validation: float = 0.2
    trial_seed: int = 1000
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)

    def __post_init__(self) -> None:
        check_seeds(self.trial_seed, self.seeds)
        FIELDS["seed"].metadata["bounds"].check("--trial-seed", self.trial_seed)
        name = parse_metric(self.metric)
        if name.split != "validation" or not name.name.endswith("accuracy") or name.condition:
            raise UsageError(
                f"--metric {self.metric} is not an accuracy on the validation set", "give validation/accuracy"
            )
        if not 0 < self.validation < 1:
            raise UsageError(f"--validation is {self.validation:g}", "give a fraction between 0 and 1")
        for config in self.contenders:
            if config.folds:
                raise UsageError(
                    f"{config.data} is cross-validated and has no test set that tuning could leave alone",
                    "tune on a data set of images",
                )

    @property
    def test_metric(self) -> str:
        return self.metric.replace("validation/", "test/")

    @property
    def names(self) -> list[str]:
        """What tells the contenders apart, for each of them."""
        varying = [name for name in GRID_FIELDS if len({getattr(one, name) for one in self.contenders}) > 1]
        return [" ".join(getattr(one, name) for name in varying or ["norm"]) for one in self.contenders]

    def trial(self, contender: int, values: Mapping[str, float], *, validation: float, **labels: str) -> RunConfig:
        """The configuration of a trial.  It holds out a validation set and never scores the test set."""
        held = {"validation": validation, "score_test": "never", "seed": self.trial_seed}
        return changed(self.contenders[contender], {**values, **held, **labels})

    def final(self, contender: int, values: Mapping[str, float], seed: int, **labels: str) -> RunConfig:
        """The configuration of a final run: the whole training set, and the test set scored once, at the end."""
        return changed(self.contenders[contender], {**values, "score_test": "end", "seed": seed, **labels})

    def to_json(self) -> dict[str, Any]:
        """The columns that a run has, and all that `from_json` needs."""
        shared = {name: self.contenders[0].to_dict()[name] for name in ("act", "model", "data", "objective")}
        return {
            **shared,
            "norm": ",".join(dict.fromkeys(one.norm for one in self.contenders))[:500],
            "contenders": [one.to_dict() for one in self.contenders],
            "over": {name: [found.low, found.high, found.log] for name, found in self.space.items()},
            "budget": {"trials": self.budget.trials, "seconds": self.budget.seconds},
            "sampler": self.sampler,
            "pruner": self.pruner,
            "metric": self.metric,
            "validation": self.validation,
            "trial_seed": self.trial_seed,
            "seeds": list(self.seeds),
        }

    def fingerprint(self, of_contenders: Sequence[str]) -> str:
        """of_contenders: their own fingerprints, which cover data and sources."""
        matters = {name: value for name, value in self.to_json().items() if name != "contenders"}
        text = json.dumps({**matters, "contenders": list(of_contenders)}, sort_keys=True)
        return hashlib.sha256(f"tune {text}".encode()).hexdigest()[:16]


def changed(config: RunConfig, values: Mapping[str, Any]) -> RunConfig:
    return replace(config, **values)


def check_seeds(trial_seed: int, seeds: Sequence[int]) -> None:
    """Refuse final seeds among which is the trials' own: the final runs would be those that were chosen by."""
    if not seeds:
        raise UsageError("there is no seed for the final runs", "write --seeds 0-4")
    if trial_seed in seeds:
        raise UsageError(
            f"--seeds has {trial_seed}, the seed of the trials: a setting is never tested on what it was chosen by",
            "give other --seeds, or another --trial-seed",
        )


def from_json(config: Mapping[str, Any], trust: Trust) -> TuneRequest:
    """The request of a recorded tuning.  trust: what its row may load."""
    try:
        return TuneRequest(
            contenders=[make_config(dict(one), trust) for one in config["contenders"]],
            space={
                str(name): Range(float(low), float(high), bool(log))
                for name, (low, high, log) in config["over"].items()
            },
            budget=Budget(**config["budget"]),
            sampler=config["sampler"],
            pruner=config["pruner"],
            metric=str(config["metric"]),
            validation=float(config["validation"]),
            trial_seed=int(config["trial_seed"]),
            seeds=tuple(int(seed) for seed in config["seeds"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, UsageError) as error:
        raise NormbenchError(
            f"its column config is not that of a tuning: {error}", "tune again with the options you want"
        ) from error
