"""The request for a tuning, as a dataclass that validates itself; the database stores it as a run's configuration."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from normbench_cli.config import FIELDS, GRID_FIELDS, MANY, RunConfig, make_config
from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.experiments.tuning.parameters import has_parameter, is_parameter, with_parameter
from normbench_cli.experiments.tuning.space import Range, Space, declared
from normbench_cli.registry.trust import Trust
from normbench_cli.store.metric_names import parse_metric

Sampler = Literal["quasi-random", "tpe"]
Pruner = Literal["none", "median", "asha"]
SAMPLERS: tuple[Sampler, ...] = get_args(Sampler)
PRUNERS: tuple[Pruner, ...] = get_args(Pruner)
MOST_TRIALS = 10_000


@dataclass(frozen=True)
class Budget:
    """The budget of every contender: a number of trials, or seconds of training steps."""

    trials: int | None = None
    seconds: float | None = None

    def is_left(self, trials: int, seconds: float) -> bool:
        """Whether another trial may begin after this number of trials and seconds."""
        if self.trials is not None:
            return trials < self.trials
        return seconds < (self.seconds or 0) and trials < MOST_TRIALS


@dataclass(frozen=True)
class TuneRequest:
    """Contenders are configurations; trials vary what `space` names.

    validation: the fraction of the training set that trials hold out, if the data set has no validation set.
    trial_seed: of all trials.  seeds: of the final runs, all different from the trials'.

    With cross-validation, every fold chooses its own setting, by graphs held out from its training part.
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
        for index in range(len(self.contenders)):
            self._check_contender(index)

    def _check_contender(self, index: int) -> None:
        """Reject a contender with nothing to search, and options by which folds would leak into each other."""
        config = self.contenders[index]
        if not self.space_of(index):
            raise UsageError(
                f"--over names nothing of {self.names[index]}", "name a setting too, such as lr=log:0.001..1"
            )
        if config.folds and (self.sampler, self.pruner) != ("quasi-random", "none"):
            raise UsageError(
                f"{config.data} is cross-validated: what one fold scores would decide what another one tries",
                "leave out --sampler and --pruner",
            )
        if config.folds and self.budget.trials is None:
            raise UsageError(
                f"{config.data} is cross-validated: its time depends on how many folds train side by side",
                "give --budget as a number of trials",
            )
        for end in ("low", "high"):  # values that no trial can have are reported before the first
            self.trial(index, {name: getattr(found, end) for name, found in self.space_of(index).items()})

    @property
    def test_metric(self) -> str:
        return self.metric.replace("validation/", "test/")

    @property
    def runs(self) -> int:
        """The number of runs; with a time budget, a lower bound that counts one trial per contender."""
        folds = [len(self.folds_of(index)) for index in range(len(self.contenders))]
        return len(folds) * (self.budget.trials or 1) + len(self.seeds) * sum(folds)

    @property
    def names(self) -> list[str]:
        """A name for each contender, from the settings that vary between them."""
        varying = [name for name in GRID_FIELDS if len({getattr(one, name) for one in self.contenders}) > 1]
        return [" ".join(getattr(one, name) for name in varying or ["norm"]) for one in self.contenders]

    def space_of(self, contender: int) -> Space:
        """The search space of a contender: the settings, and the parameters that its components have."""
        config = self.contenders[contender]
        return {
            name: found for name, found in self.space.items() if not is_parameter(name) or has_parameter(config, name)
        }

    def folds_of(self, contender: int) -> Sequence[int | None]:
        """The folds, each of which chooses a setting; [None] without cross-validation."""
        return range(self.contenders[contender].folds) or (None,)

    def trial(
        self, contender: int, values: Mapping[str, float], *, validation: float | None = None, **labels: str
    ) -> RunConfig:
        """The configuration of a trial.  It holds out a validation set and never scores the test set.

        validation: overrides the request's.
        """
        held = self.validation if validation is None else validation
        fixed = {"validation": held, "score_test": "never", "seed": self.trial_seed, **self.shared(contender)}
        return changed(self.contenders[contender], values, {**fixed, **labels})

    def final(
        self, contender: int, values: Mapping[str, float], seed: int, fold: int | None = None, **labels: str
    ) -> RunConfig:
        """The configuration of a final run: the whole training set, and the test set scored once, at the end.

        fold: the only fold of a cross-validation that is trained, with the setting that it chose.
        """
        fixed = {"score_test": "end", "seed": seed, "fold": fold, **self.shared(contender)}
        return changed(self.contenders[contender], values, {**fixed, **labels})

    def shared(self, contender: int) -> dict[str, int]:
        """Settings of all runs of a contender: the trials' folds, and few checkpoints, as most runs are short: the
        last one, and those by time."""
        config = self.contenders[contender]
        every = config.checkpoint_epochs if config.checkpoint_epochs > 1 else config.epochs or MANY
        split = {"split_seed": self.trial_seed} if config.folds and config.split_seed is None else {}
        return {"checkpoint_epochs": every, **split}

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
        """of_contenders: the contenders' own fingerprints, which cover data and sources."""
        matters = {name: value for name, value in self.to_json().items() if name != "contenders"}
        text = json.dumps({**matters, "contenders": list(of_contenders)}, sort_keys=True)
        return hashlib.sha256(f"tune {text}".encode()).hexdigest()[:16]


def changed(config: RunConfig, values: Mapping[str, float], fixed: Mapping[str, Any]) -> RunConfig:
    """The configuration with values of searched settings and parameters, and fixed settings."""
    settings: dict[str, Any] = {name: value for name, value in values.items() if not is_parameter(name)}
    config = replace(config, **settings, **fixed)
    for name in values.keys() - settings.keys():
        config = with_parameter(config, name, values[name])
    return config


def check_seeds(trial_seed: int, seeds: Sequence[int]) -> None:
    """Reject final seeds that include the trials' seed: the final runs would repeat the runs used for choosing."""
    if not seeds:
        raise UsageError("there is no seed for the final runs", "write --seeds 0-4")
    if trial_seed in seeds:
        raise UsageError(
            f"--seeds has {trial_seed}, the seed of the trials: a setting is never tested on what it was chosen by",
            "give other --seeds, or another --trial-seed",
        )


def from_json(config: Mapping[str, Any], trust: Trust) -> TuneRequest:
    """Read the request of a recorded tuning.  trust: what its row may load."""
    try:
        contenders = [make_config(dict(one), trust) for one in config["contenders"]]
        return TuneRequest(
            contenders=contenders,
            space={
                str(name): Range(float(low), float(high), bool(log), declared(str(name), contenders)[1] is int)
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
