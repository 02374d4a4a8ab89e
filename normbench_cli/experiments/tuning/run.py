"""A whole tuning: trials in turns, the chosen setting of each contender on fresh seeds, and its row in the database.

The row (kind ``tune``) holds what was asked for, and in its details which runs were made.  The runs themselves are the
truth: a tuning that is started again asks for the same trials and finds them by their fingerprints.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from normbench_cli import build, paths
from normbench_cli.config import RunConfig
from normbench_cli.device import pick_device
from normbench_cli.errors import NormbenchError
from normbench_cli.experiments.environment import environment
from normbench_cli.experiments.events import Callback, Event, Notice, ignore
from normbench_cli.experiments.identity import fingerprints
from normbench_cli.experiments.lifecycle import Begun, recording_outcome
from normbench_cli.experiments.recorded import Packages
from normbench_cli.experiments.result import RunResult
from normbench_cli.experiments.tuning.contest import Contender, Outcome, Trial, hold
from normbench_cli.experiments.tuning.request import TuneRequest, from_json
from normbench_cli.experiments.tuning.sampling import Proposal, Study
from normbench_cli.experiments.tuning.trial import Trials, epochs_of
from normbench_cli.registry.trust import recorded_in
from normbench_cli.store import Store

KIND = "tune"


@dataclass
class Tuning:
    """A tuning while it is made.  finals: of each contender, its final runs by seed."""

    request: TuneRequest
    contenders: list[Contender]
    finals: list[dict[int, RunResult]] = field(default_factory=list)
    run_id: str = ""

    @property
    def failed(self) -> list[str]:
        """Why trials and final runs failed."""
        trials = [trial.outcome.message for one in self.contenders for trial in one.trials if trial.outcome.message]
        return trials + [result.message for finals in self.finals for result in finals.values() if failed(result)]


def failed(result: RunResult) -> bool:
    return result.status == "failed"


def tune(request: TuneRequest, db: str | None = None, on_event: Callback = ignore) -> Tuning:
    """Make what is left of a tuning, and give the whole."""
    on_event = with_notices_once(on_event)
    paths.ensure_writable(paths.home(), "NORMBENCH_HOME")
    paths.set_compile_cache()
    for index, config in enumerate(request.contenders):  # what cannot work is said before anything is trained
        build.check(config)
        build.check(request.trial(index, {}, validation=validation_of(request, config)))
    with Store.open(db) as store:
        store.sweep(grace=timedelta(0))
        with recording_outcome(store, lambda _run: "the same command continues the tuning") as begun:
            tuning = begin(request, store, begun)
            make_trials(tuning, store, on_event)
            make_finals(tuning, store, on_event)
            store.end(tuning.run_id, "finished")
    return tuning


def with_notices_once(on_event: Callback) -> Callback:
    """The callback, without the notices that every trial of a contender would repeat."""
    said: set[str] = set()

    def pass_on(event: Event) -> None:
        if not isinstance(event, Notice) or event.text not in said:
            said.update([event.text] if isinstance(event, Notice) else [])
            on_event(event)

    return pass_on


def validation_of(request: TuneRequest, config: RunConfig) -> float:
    """The fraction that trials hold out; none where the data set has a validation set."""
    return 0.0 if build.load_images(config.data).validation is not None else request.validation


def begin(request: TuneRequest, store: Store, begun: Begun) -> Tuning:
    """Open the row of the same tuning if there is one, otherwise a new one."""
    fingerprint = request.fingerprint(fingerprints(request.contenders))
    known, _ = store.newest_runs([fingerprint]).get(fingerprint, ("", ""))

    def open_row() -> str:
        if known:
            store.reopen(known, 0)
            return known
        facts = environment(pick_device(request.contenders[0].device))
        return store.begin(request.to_json(), fingerprint, facts, kind=KIND, argv=sys.argv[1:])

    return Tuning(
        request,
        [new_contender(request, index) for index in range(len(request.contenders))],
        run_id=begun.begin(open_row),
    )


def new_contender(request: TuneRequest, index: int) -> Contender:
    config = request.contenders[index]
    trial = request.trial(index, {}, validation=validation_of(request, config))
    epochs, images = epochs_of(trial), build.images_of(trial)
    return Contender(Study(request.space, request.sampler, request.pruner, epochs), len(images.validation or ()))


def make_trials(tuning: Tuning, store: Store, on_event: Callback) -> None:
    request, trials = tuning.request, Trials(store, tuning.request.metric, on_event)

    def make(index: int, proposal: Proposal) -> Outcome:
        validation = validation_of(request, request.contenders[index])
        labels = {"tag": tag_of(tuning), "note": f"trial {proposal.number} of {request.names[index]}"}
        config = request.trial(index, proposal.values, validation=validation, **labels)
        return trials.make(config, proposal.should_stop)

    for _ in hold(tuning.contenders, request.budget, make):
        store.add_details(tuning.run_id, details(tuning))


def make_finals(tuning: Tuning, store: Store, on_event: Callback) -> None:
    """Each contender's chosen setting on each final seed; seed by seed, so that an interrupted tuning is fair."""
    request, trials = tuning.request, Trials(store, tuning.request.metric, on_event)
    tuning.finals = [{} for _ in tuning.contenders]
    for seed in request.seeds:
        for index, contender in enumerate(tuning.contenders):
            if contender.chosen is not None:
                labels = {"tag": tag_of(tuning), "note": f"final run of {request.names[index]}"}
                config = request.final(index, contender.chosen.values, seed, **labels)
                tuning.finals[index][seed] = trials.final(config)
                store.add_details(tuning.run_id, details(tuning))


def tag_of(tuning: Tuning) -> str:
    return tuning.request.contenders[0].tag or f"tune-{tuning.run_id}"


def details(tuning: Tuning) -> dict[str, Any]:
    """What is recorded of a tuning: the trials and final runs of each contender."""
    finals: Sequence[dict[int, RunResult]] = tuning.finals or [{} for _ in tuning.contenders]
    return {
        KIND: [
            {
                "name": name,
                "examples": contender.examples,
                "trials": [trial_json(trial) for trial in contender.trials],
                "chosen": contender.chosen.number if contender.chosen else None,
                "finals": [{"seed": seed, "run": result.id, "status": result.status} for seed, result in runs.items()],
            }
            for name, contender, runs in zip(tuning.request.names, tuning.contenders, finals, strict=True)
        ]
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
    }


def recorded_request(text: str, db: str | None, allow: Packages = ()) -> TuneRequest:
    """The request of a recorded tuning, by its id."""
    with Store.open(db, write=False) as store:
        row = store.find(text)
    if row.kind != KIND:
        raise NormbenchError(f"run {row.id} is a {row.kind}, not a tuning", "see `normbench tune --report`")
    try:
        return from_json(row.config, recorded_in(f"tuning {row.id}", allow))
    except NormbenchError as error:
        raise NormbenchError(f"tuning {row.id}: {error}") from error
