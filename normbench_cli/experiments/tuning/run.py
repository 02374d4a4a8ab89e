"""A whole tuning: round-robin trials, each contender's chosen setting on fresh seeds, and its row in the database.

The row (kind ``tune``) holds the request, and its details list the runs.  The runs themselves are the source of truth:
a restarted tuning proposes the same trials and finds them by their fingerprints.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import product

from normbench_cli import build, paths
from normbench_cli.config import RunConfig
from normbench_cli.device import pick_device
from normbench_cli.errors import NormbenchError
from normbench_cli.experiments.environment import environment
from normbench_cli.experiments.events import Callback, Event, Notice, ignore
from normbench_cli.experiments.identity import fingerprints
from normbench_cli.experiments.lifecycle import StartedRuns, recording_outcome
from normbench_cli.experiments.recorded import Packages
from normbench_cli.experiments.result import RunResult
from normbench_cli.experiments.tuning.contest import Contender, Outcome, run_round_robin
from normbench_cli.experiments.tuning.details import KIND, details_of
from normbench_cli.experiments.tuning.request import TuneRequest, from_json
from normbench_cli.experiments.tuning.sampling import Proposal, Study
from normbench_cli.experiments.tuning.trial import Trials, epochs_of
from normbench_cli.registry.trust import recorded_in
from normbench_cli.store import Store


@dataclass
class Tuning:
    """A tuning in progress.  finals: for each contender, the final runs by seed and by fold of a cross-validation (None
    otherwise)."""

    request: TuneRequest
    contenders: list[Contender]
    finals: list[dict[tuple[int, int | None], RunResult]] = field(default_factory=list)
    id: str = ""

    @property
    def results(self) -> dict[str, list[RunResult]]:
        """The final runs of each contender, by name."""
        return {name: list(runs.values()) for name, runs in zip(self.request.names, self.finals, strict=True)}

    @property
    def failed(self) -> list[str]:
        """Why trials and final runs failed."""
        trials = [trial.outcome.message for one in self.contenders for trial in one.trials if trial.outcome.message]
        return trials + [result.message for finals in self.finals for result in finals.values() if failed(result)]


def failed(result: RunResult) -> bool:
    return result.status == "failed"


def tune(request: TuneRequest, db: str | None = None, on_event: Callback = ignore) -> Tuning:
    """Run what is left of a tuning, and return the whole."""
    on_event = with_notices_once(on_event)
    paths.ensure_writable(paths.home(), "NORMBENCH_HOME")
    paths.set_compile_cache()
    for index, config in enumerate(request.contenders):  # report what cannot work before anything is trained
        build.check(config)
        build.check(request.trial(index, {}, validation=validation_of(request, config)))
    with Store.open(db) as store:
        store.sweep(grace=timedelta(0))
        with recording_outcome(store, lambda _run: "the same command continues the tuning") as begun:
            tuning = begin(request, store, begun)
            make_trials(tuning, store, on_event)
            make_finals(tuning, store, on_event)
            store.end(tuning.id, "finished")
    return tuning


def with_notices_once(on_event: Callback) -> Callback:
    """The callback, with repeated notices dropped, as every trial of a contender would send them."""
    said: set[str] = set()

    def pass_on(event: Event) -> None:
        if not isinstance(event, Notice) or event.text not in said:
            said.update([event.text] if isinstance(event, Notice) else [])
            on_event(event)

    return pass_on


def validation_of(request: TuneRequest, config: RunConfig) -> float:
    """The fraction that trials hold out; none where the data set has a validation set."""
    has_one = not config.folds and build.load_images(config.data).validation is not None
    return 0.0 if has_one else request.validation


def begin(request: TuneRequest, store: Store, begun: StartedRuns) -> Tuning:
    """Reopen the row of the same tuning if there is one, otherwise begin a new one."""
    fingerprint = request.fingerprint(fingerprints(request.contenders))
    known, _ = store.newest_runs([fingerprint]).get(fingerprint, ("", ""))

    def open_row() -> str:
        if known:
            store.reopen(known, 0, finished=True)
            return known
        facts = environment(pick_device(request.contenders[0].device))
        return store.begin(request.to_json(), fingerprint, facts, kind=KIND, argv=sys.argv[1:])

    return Tuning(
        request,
        [new_contender(request, index) for index in range(len(request.contenders))],
        id=begun.begin(open_row),
    )


def new_contender(request: TuneRequest, index: int) -> Contender:
    config = request.contenders[index]
    trial = request.trial(index, {}, validation=validation_of(request, config))
    study = Study(request.space_of(index), request.sampler, request.pruner, epochs_of(trial), request.space)
    return Contender(study, held_out_of(trial))


def held_out_of(trial: RunConfig) -> int:
    """The number of examples that score a trial: those held out, summed over the folds of a cross-validation."""
    if trial.folds:
        return sum(len(splits.validation) for splits in build.splits_of_folds(trial))
    return len(build.images_of(trial).validation or ())


def make_trials(tuning: Tuning, store: Store, on_event: Callback) -> None:
    request, trials = tuning.request, Trials(store, tuning.request.metric, on_event)

    def make(index: int, proposal: Proposal) -> Outcome:
        validation = validation_of(request, request.contenders[index])
        labels = {"tag": tag_of(tuning), "note": f"trial {proposal.number} of {request.names[index]}"}
        config = request.trial(index, proposal.values, validation=validation, **labels)
        return trials.make(config, proposal.should_stop)

    for _ in run_round_robin(tuning.contenders, request.budget, make):
        record(tuning, store)


def make_finals(tuning: Tuning, store: Store, on_event: Callback) -> None:
    """Train each contender's chosen setting on each final seed; seed by seed, so that an interrupted tuning is fair.

    Every fold of a cross-validation is a separate run, with the setting that this fold chose.
    """
    request, trials = tuning.request, Trials(store, tuning.request.metric, on_event)
    tuning.finals = [{} for _ in tuning.contenders]
    for seed, index in product(request.seeds, range(len(request.contenders))):
        for fold in request.folds_of(index):
            chosen = tuning.contenders[index].chosen_by(fold)
            if chosen is not None:
                labels = {"tag": tag_of(tuning), "note": f"final run of {request.names[index]}"}
                config = request.final(index, chosen.values, seed, fold, **labels)
                tuning.finals[index][seed, fold] = trials.final(config)
                record(tuning, store)


def record(tuning: Tuning, store: Store) -> None:
    store.add_details(tuning.id, details_of(tuning.request, tuning.contenders, tuning.finals))


def tag_of(tuning: Tuning) -> str:
    return tuning.request.contenders[0].tag or f"tune-{tuning.id}"


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
