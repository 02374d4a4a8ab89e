"""Scoring the checkpoints of finished runs again: clean, attacked, pruned, corrupted.  The metrics join the run's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from normbench_cli import build
from normbench_cli.attacks.protocols import ClipsInputs
from normbench_cli.config import RunConfig
from normbench_cli.corruptions.cases import CorruptionCase, parse_cases
from normbench_cli.device import device_name, naming_what_is_not_deterministic
from normbench_cli.engine.damaged_files import new_damage
from normbench_cli.engine.evaluate import score, score_each
from normbench_cli.engine.protocols import ImageData
from normbench_cli.engine.training import Training
from normbench_cli.experiments.corrupted import mean_errors, score_corrupted
from normbench_cli.experiments.environment import accelerator_facts
from normbench_cli.experiments.events import Callback, CasesStarted, Notice, ignore
from normbench_cli.experiments.pruned import scores_pruned
from normbench_cli.experiments.pruning import Pruning, check_prunings, parse_prunings, pruning_of
from normbench_cli.experiments.recorded import Packages, with_own_packages
from normbench_cli.experiments.result import RunResult, run_id_of
from normbench_cli.experiments.same_data import changed_sources, check_data
from normbench_cli.experiments.trained import config_of_finished, load_trained
from normbench_cli.interrupts import Interrupted, held_back
from normbench_cli.registry import ATTACKS, CORRUPTIONS, DATASETS
from normbench_cli.registry.spec import expand, split_list
from normbench_cli.store import Store


@dataclass(frozen=True)
class Conditions:
    """The checked conditions a model is scored under besides clean inputs; and notes about what was left out."""

    attacks: tuple[str, ...] = ()
    corruptions: tuple[CorruptionCase, ...] = ()
    notes: tuple[str, ...] = ()
    prunings: tuple[Pruning, ...] = ()


def evaluate(
    run: str | RunResult,
    *,
    attacks: str | Iterable[str] = (),
    corruptions: str | Iterable[str] = (),
    prunings: str | Iterable[str] = (),
    device: str = "auto",
    force: bool = False,
    allow: Packages = (),
    db: str | None = None,
    on_event: Callback = ignore,
) -> RunResult:
    """Score a finished run's checkpoint: clean, attacked, corrupted, pruned.  The metrics are added to the run.

    run: an id, a prefix of one, or a result of `train`.  force: score even if the data set of that name has changed
    since the run, which is recorded as a remark.  allow: packages that the run may load external components from.

    >>> nb.evaluate("d322c4f1", attacks=["gaussian", "bim:eps=0.01/0.03"], corruptions="fog").metrics
    """
    conditions = parse_conditions(as_list(attacks), as_list(corruptions), as_list(prunings))
    allowed = with_own_packages(run, allow)
    with Store.open(db, create=False) as store:
        (result,) = evaluate_runs(
            [run_id_of(run)], conditions, store, device=device, force=force, allow=allowed, on_event=on_event
        )
    return result


def as_list(specs: str | Iterable[str]) -> list[str]:
    return [specs] if isinstance(specs, str) else list(specs)


def parse_conditions(
    attacks: Iterable[str] = (), corruptions: Iterable[str] = (), prunings: Iterable[str] = ()
) -> Conditions:
    """Parse specs as written in a command (comma-separated lists, values separated by slashes); drop duplicates."""
    written = [one for text in attacks for spec in split_list(text) for one in expand(spec)]
    specs = tuple(dict.fromkeys(map(ATTACKS.canonical, written)))
    for spec in specs:
        ATTACKS.build(spec)
    cases, notes = parse_cases(corruptions)
    return Conditions(specs, tuple(cases), tuple(notes), parse_prunings(prunings))


def conditions_of(specs: Iterable[str]) -> Conditions:
    """Parse what follows @ in the names of metrics: attacks and prunings."""
    found = {spec: pruning_of(spec) for spec in specs}
    prunings = tuple(pruning for pruning in found.values() if pruning)
    return Conditions(tuple(spec for spec in found if not found[spec]), prunings=prunings)


def evaluate_runs(
    runs: Sequence[str],
    conditions: Conditions,
    store: Store,
    *,
    device: str = "auto",
    force: bool = False,
    allow: Packages = (),
    on_event: Callback = ignore,
) -> list[RunResult]:
    """Score the checkpoints of finished runs and add the metrics to them.

    runs: ids or prefixes of ids.  All are checked before anything is measured.
    """
    for note in conditions.notes:
        on_event(Notice(note))
    run_ids = [store.find(text).id for text in runs]
    others = [check_run(run_id, store, conditions, force=force, allow=allow, on_event=on_event) for run_id in run_ids]
    return [
        evaluate_run(run_id, conditions, store, device=device, other_data=other, allow=allow, on_event=on_event)
        for run_id, other in zip(run_ids, others, strict=True)
    ]


def check_run(
    run_id: str,
    store: Store,
    conditions: Conditions,
    *,
    force: bool = False,
    allow: Packages = (),
    on_event: Callback = ignore,
) -> str:
    """Raise an error for what cannot work, before anything is measured.  Return how the data differ, if they do."""
    config, run = config_of_finished(run_id, store, allow), store.find(run_id)
    check_prunings(config, conditions.prunings)
    other_data = check_data(run, config, force=force, on_event=on_event)
    for notice in changed_sources(run, config):
        on_event(notice)
    if conditions.corruptions:
        data, name = build.load_data(config.data), DATASETS.parse(config.data).entry.name
        for case in conditions.corruptions:
            CORRUPTIONS.build(case.spec).check_data(name, data)
    return other_data


def evaluate_run(
    run_id: str,
    conditions: Conditions,
    store: Store,
    *,
    device: str = "auto",
    other_data: str = "",
    allow: Packages = (),
    on_event: Callback = ignore,
) -> RunResult:
    """Score one finished run, which `check_run` has checked.  Each part of the metrics is recorded as soon as it is
    complete.

    other_data: the result of `check_run`.
    """
    config, training = load_trained(run_id, store, device, allow, force=True)
    if other_data:
        store.add_remark(run_id, f"scored on other data: {other_data}")
    found: dict[str, float] = {}
    try:
        with build.flags_of(config), naming_what_is_not_deterministic():
            if facts := accelerator_facts(training.device):
                store.add_remark(run_id, f"scored on {device_name(training.device)}: {json.dumps(facts)}")
            score_and_record(run_id, config, training, conditions, store, found, on_event)
    except KeyboardInterrupt as stopped:
        if found:
            raise Interrupted(f"interrupted; {len(found)} scores are already recorded with run {run_id}") from stopped
        raise
    return RunResult(run_id, "finished", config, found, fingerprint=store.find(run_id).fingerprint)


def score_and_record(
    run_id: str,
    config: RunConfig,
    training: Training,
    conditions: Conditions,
    store: Store,
    found: dict[str, float],
    on_event: Callback,
) -> None:
    """Score a run and record the metrics, which are added to `found` as well."""
    for metrics in metrics_in_parts(training, config, conditions, on_event):
        with held_back():
            store.record(run_id, metrics, epoch=None, step=training.steps)
            found |= metrics
        for notice in new_damage(training):
            on_event(notice)


def metrics_in_parts(
    training: Training, config: RunConfig, conditions: Conditions, on_event: Callback
) -> Iterator[dict[str, float]]:
    """Yield the metrics in parts: clean with attacks, each pruning, each corruption, means over corruptions."""
    data = build.load_images(config.data)
    metrics = {f"test/{name}": value for name, value in score(training, training.test).items()}
    clean = metrics["test/accuracy"]
    for spec in conditions.attacks:
        metrics |= score_attacked(training, data, spec, clean)
    yield metrics
    if conditions.prunings:
        yield from scores_pruned(training, config, conditions.prunings, clean)
    errors: dict[CorruptionCase, float] = {}
    for kind, same_kind in groupby(conditions.corruptions, key=lambda case: case.kind):
        cases = list(same_kind)
        on_event(CasesStarted(kind, len(cases)))
        metrics = score_corrupted(training, data, cases)
        if (error := metrics.get(f"test/corruption_error@{kind}")) is not None:
            errors[cases[0]] = error
        yield metrics
    if means := mean_errors(errors):
        yield means


def score_attacked(training: Training, data: ImageData, spec: str, clean: float) -> dict[str, float]:
    """Scores under an attack, the accuracy lost against clean inputs, and the accuracy when inputs are only clipped."""
    attack = ATTACKS.build(spec, mean=data.mean, std=data.std)
    clips = [lambda model, x, y: attack.clip_only(x)] if isinstance(attack, ClipsInputs) else []
    scores, *clipped = score_each(training, training.test, [attack, *clips])
    metrics = {f"test/{name}@{spec}": value for name, value in scores.items()}
    metrics[f"test/accuracy_drop@{spec}"] = clean - scores["accuracy"]
    for clipped_scores in clipped:
        metrics[f"test/accuracy_clip_only@{spec}"] = clipped_scores["accuracy"]
    return metrics
