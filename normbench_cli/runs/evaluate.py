"""Scoring a finished run's checkpoint again, clean, attacked and corrupted; what is measured is added to the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any

import torch
from torch import Tensor, nn

from normbench_cli import build, paths
from normbench_cli.attacks.protocols import ClipsInputs
from normbench_cli.config import RunConfig, make_config
from normbench_cli.corruptions.base import SEVERITIES, Corruption
from normbench_cli.corruptions.cases import CorruptionCase, parse_cases
from normbench_cli.datasets._images.batches import Standardize
from normbench_cli.device import pick_device
from normbench_cli.engine import checkpoint
from normbench_cli.engine.damaged_files import new_damage
from normbench_cli.engine.evaluate import score, score_each
from normbench_cli.engine.training import Training
from normbench_cli.errors import NormbenchError
from normbench_cli.registry import ATTACKS, CORRUPTIONS, DATASETS
from normbench_cli.runs.events import Callback, CasesStarted, Notice, ignore
from normbench_cli.runs.result import RunResult
from normbench_cli.runs.train import checkpoint_mismatch
from normbench_cli.store import Store

__all__ = ["CorruptionCase", "Notice", "check", "evaluate", "parse_cases"]


def check(run_id: str, store: Store, cells: Sequence[CorruptionCase]) -> None:
    """Find out what cannot work before anything is measured."""
    config = config_of(run_id, store)
    if cells:
        data, name = build.load_data(config.data), DATASETS.parse(config.data).entry.name
        for cell in cells:
            CORRUPTIONS.build(cell.spec).check_data(name, data)


def config_of(run_id: str, store: Store) -> RunConfig:
    run = store.find(run_id)
    if run.status != "finished":
        raise NormbenchError(f"run {run.id} is {run.status}", "only a finished run can be evaluated")
    if run.config.get("folds"):
        raise NormbenchError(f"run {run.id} is a cross-validation, which keeps no model", "see `normbench runs show`")
    return make_config(run.config)


def evaluate(
    run_id: str,
    store: Store,
    device_name: str = "auto",
    attacks: Sequence[str] = (),
    cells: Sequence[CorruptionCase] = (),
    on_event: Callback = ignore,
) -> RunResult:
    """Score a finished run's checkpoint, and add what was measured to the run, one part after the other.

    `on_event` is told which cells are about to be measured, and what there is to say.
    """
    config = make_config(config_of(run_id, store).to_dict() | {"device": device_name})
    saved, damaged = checkpoint.load(paths.run_folder(run_id), pick_device(device_name))
    training = build.make_training(build.resolve(config, trial=None))
    if saved["step"] < training.steps:
        raise NormbenchError(
            "; ".join(damaged) or f"the last checkpoint of run {run_id} is missing",
            f"the one before it, of step {saved['step']} of {training.steps}, is not what the run came to; "
            "train the run again with --rerun",
        )
    with checkpoint_mismatch(run_id):
        training.model.load_state_dict(saved["model"])
    data, found = build.load_data(config.data), dict[str, float]()
    for metrics in measured(training, data, attacks, cells, on_event):
        store.record(run_id, metrics, epoch=None, step=training.steps)
        found |= metrics
        for notice in new_damage(training):
            on_event(notice)
    return RunResult(run_id, "finished", config, found)


def measured(
    training: Training, data: Any, attacks: Sequence[str], cells: Sequence[CorruptionCase], on_event: Callback
) -> Iterator[dict[str, float]]:
    """What there is to record, in parts that are complete in themselves."""
    metrics = {f"test/{name}": value for name, value in score(training, training.test).items()}
    clean = metrics["test/accuracy"]
    for spec in attacks:
        metrics |= attacked(training, data, spec, clean)
    yield metrics
    errors: dict[CorruptionCase, float] = {}
    for kind, same in groupby(cells, key=lambda cell: cell.kind):
        metrics, by_severity, cells_of_kind = {}, {}, list(same)
        on_event(CasesStarted(kind, len(cells_of_kind)))
        corruptions = [Corrupted(CORRUPTIONS.build(cell.spec), data, training.device) for cell in cells_of_kind]
        for cell, scores in zip(cells_of_kind, score_each(training, training.test, corruptions), strict=True):
            metrics |= {f"test/{name}@{cell.spec}": value for name, value in scores.items()}
            by_severity[cell.severity] = 1 - scores["accuracy"]
        if len(by_severity) == len(SEVERITIES):
            errors[cells_of_kind[0]] = metrics[f"test/corruption_error@{kind}"] = fmean(by_severity.values())
        yield metrics
    if means := mean_errors(errors):
        yield means


def mean_errors(errors: Mapping[CorruptionCase, float]) -> dict[str, float]:
    """The mean over the corruptions that were measured at all severities, and how many they are; of one alone, none."""
    metrics: dict[str, float] = {}
    for group in dict.fromkeys(cell.group for cell in errors):
        counted = [error for cell, error in errors.items() if cell.group == group and cell.in_mean]
        if len(counted) > 1:
            where = f"@{group}" if group else ""
            metrics[f"test/mean_corruption_error{where}"] = fmean(counted)
            metrics[f"test/corruptions_in_mean{where}"] = len(counted)
    return metrics


class Corrupted:
    """A corruption of pixels as a disturbance of standardized inputs, which come in the test set's order."""

    def __init__(self, corruption: Corruption, data: Any, device: torch.device) -> None:
        self._corruption, self._first = corruption, 0
        self._standardize = Standardize(data.mean, data.std, device)
        self._mean, self._std = (torch.tensor(t, device=device).view(-1, 1, 1) for t in (data.mean, data.std))

    def __call__(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        pixels = ((x * self._std + self._mean) * 255).round().clamp(0, 255).to(torch.uint8)
        changed = self._corruption(pixels, self._first)
        self._first += len(x)
        return torch.empty_like(x).copy_(self._standardize(changed))  # in the same order in memory


def attacked(training: Training, data: Any, spec: str, clean: float) -> dict[str, float]:
    """Scores under an attack: as they are, what they lost against clean ones, and what the clipping alone does."""
    attack = ATTACKS.build(spec, mean=data.mean, std=data.std)
    clips = [lambda model, x, y: attack.clip_only(x)] if isinstance(attack, ClipsInputs) else []
    scores, *clipped = score_each(training, training.test, [attack, *clips])
    found = {f"test/{name}@{spec}": value for name, value in scores.items()}
    found[f"test/accuracy_drop@{spec}"] = clean - scores["accuracy"]
    for clipped_scores in clipped:
        found[f"test/accuracy_clip_only@{spec}"] = clipped_scores["accuracy"]
    return found
