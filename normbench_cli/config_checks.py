"""Checks for settings of a run that are incompatible with cross-validation or with several processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from normbench_cli.errors import UsageError
from normbench_cli.registry import NORMS


class Settings(Protocol):
    """The part of a RunConfig that the checks need."""

    @property
    def norm(self) -> str: ...

    @property
    def data(self) -> str: ...

    @property
    def batch_size(self) -> int: ...

    @property
    def iterations(self) -> int | None: ...

    @property
    def folds(self) -> int: ...

    @property
    def fold(self) -> int | None: ...

    @property
    def validation(self) -> float: ...

    @property
    def score_test(self) -> str: ...

    @property
    def amp(self) -> str: ...

    @property
    def init(self) -> str: ...

    @property
    def compile(self) -> bool | None: ...

    @property
    def nproc(self) -> int: ...

    @property
    def sync_norm(self) -> bool: ...


def check_folds(config: Settings, defaults: Mapping[str, Any]) -> None:
    """Refuse what cross-validation does not support."""
    if not config.folds:
        for name in ("fold", "split_seed"):
            if (value := getattr(config, name)) is not None:
                raise UsageError(f"{name} is {value}, and {config.data} has no folds", "drop the setting")
        return
    if config.folds < 2:
        raise UsageError(f"folds is {config.folds}", "give 2 or more")
    if config.fold is not None and config.fold >= config.folds:
        raise UsageError(f"fold is {config.fold}, and there are {config.folds}", f"give 0 to {config.folds - 1}")
    if config.validation and config.score_test == "epoch":
        raise UsageError("the test part of a fold is not scored after every epoch", "set score_test=end or never")
    if config.iterations:
        raise UsageError("a cross-validation is counted in epochs, and iterations are given", "give --epochs")
    if config.amp not in ("auto", "off"):
        raise UsageError(f"amp is {config.amp}, which cross-validation does not support", "drop --amp")
    if config.compile:
        raise UsageError("compile is on, which cross-validation does not support", "drop --compile")
    if config.init not in ("auto", "torch"):
        raise UsageError(f"init is {config.init}, and models for graphs initialize themselves", "drop the setting")
    for name in ("init_gain", "gamma_init", "beta_init"):
        if (value := getattr(config, name)) != defaults[name]:
            raise UsageError(f"{name} is {value}, which cross-validation does not support", "drop the setting")


def check_processes(config: Settings) -> None:
    """Refuse what training in several processes does not support."""
    if config.nproc == 1:
        if config.sync_norm:
            raise UsageError("sync_norm is on, and one process trains", "give --nproc 2 or more, or drop --sync-norm")
        return
    several = f"nproc is {config.nproc}"
    if config.folds:
        raise UsageError(f"{several}, and {config.data} is cross-validated, one fold a process", "drop --nproc")
    if config.compile:
        raise UsageError(f"{several}, and compile is on, which several processes do not support", "drop --compile")
    alone = NORMS.parse_norm(config.norm).needs_batch and not config.sync_norm
    if config.batch_size < (least := config.nproc * (2 if alone else 1)):
        examples = f"two examples, as norm '{config.norm}' takes its statistics in each" if alone else "one example"
        raise UsageError(
            f"{several}, and a batch_size of {config.batch_size} gives some processes less than {examples}",
            f"give --batch-size {least} or more" + ", or --sync-norm" * (alone and config.batch_size >= config.nproc),
        )
