"""Tuning on a cross-validated data set: each fold chooses by graphs of its training part, and is tested once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from torch import Tensor

from normbench_cli import build
from normbench_cli.config import RunConfig, make_config
from normbench_cli.datasets._graphs.loader import GraphLoader
from normbench_cli.engine.crossval import assign_folds, parallel
from normbench_cli.engine.crossval.process_tuning import threads
from normbench_cli.engine.crossval.train import train_fold
from normbench_cli.errors import UsageError
from normbench_cli.experiments.events import Event, RunStarted
from normbench_cli.experiments.tuning.contest import Contender, Outcome, Trial
from normbench_cli.experiments.tuning.request import Budget, TuneRequest
from normbench_cli.experiments.tuning.run import Tuning, tune
from normbench_cli.experiments.tuning.sampling import Study
from normbench_cli.experiments.tuning.space import parse_space
from normbench_cli.reporting.tuning.document import make_document, to_json
from normbench_cli.reporting.tuning.read import read_tuning
from normbench_cli.store import Store
from tests.support import RunCommand

GRAPHS = {"data": "toy_graphs", "model": "gcn:hidden=4", "folds": 3, "epochs": 2}
FOLDS = range(3)


def request(**changes: Any) -> TuneRequest:
    contenders = [make_config(GRAPHS)]
    return replace(TuneRequest(contenders, parse_space(["lr=log:0.001..1"]), Budget(trials=2), seeds=(0, 1)), **changes)


class Reading(NamedTuple):
    """A batch that was read for a fold of a run."""

    config: RunConfig
    fold: int
    graphs: frozenset[int]


class Watched(NamedTuple):
    tuning: Tuning
    reads: list[Reading]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    """A whole tuning, and every batch of graphs that its runs have read."""
    reads: list[Reading] = []
    now: list[Any] = [None, None]
    batch = GraphLoader.batch

    def note(event: Event) -> None:
        if isinstance(event, RunStarted):
            now[0] = event.config

    def counted(self: GraphLoader, chosen: Tensor) -> Any:
        reads.append(Reading(now[0], now[1], frozenset(chosen.tolist())))
        return batch(self, chosen)

    def of_fold(fold: Any, *given: Any) -> None:
        now[1] = fold.number
        train_fold(fold, *given)

    monkeypatch.setattr(GraphLoader, "batch", counted)
    monkeypatch.setattr(parallel, "train_fold", of_fold)
    with threads(1):  # one fold after the other, in this process
        yield Watched(tune(request(), on_event=note), reads)


def own_graphs(fold: int) -> frozenset[int]:
    labels = build.load_data("toy_graphs").labels  # type: ignore[union-attr]
    return frozenset((assign_folds(labels, 3, 1000) == fold).nonzero()[:, 0].tolist())


def test_no_trial_reads_the_graphs_that_test_its_fold_and_each_final_run_reads_them_once(watched: Watched) -> None:
    trials = [read for read in watched.reads if read.config.score_test == "never"]
    finals = [read for read in watched.reads if read.config.score_test == "end"]
    assert len({read.config for read in trials}) == 2
    assert not [read for read in trials if read.graphs & own_graphs(read.fold)]
    for seed in (0, 1):
        for number in FOLDS:
            of_run = [read for read in finals if (read.config.seed, read.config.fold) == (seed, number)]
            assert {read.fold for read in of_run} == {number}
            assert [read.graphs for read in of_run if read.graphs & own_graphs(number)] == [own_graphs(number)]
    labels = build.load_data("toy_graphs").labels  # type: ignore[union-attr]
    assert set.union(*(set(own_graphs(fold)) for fold in FOLDS)) == set(range(len(labels)))

    made = watched.tuning
    (contender,) = made.contenders
    assert contender.examples == 3 * 6  # a fifth of 13 or 14 graphs of each class, in each fold
    for (seed, fold), result in made.finals[0].items():
        scores = [trial.outcome.of_fold(fold) for trial in contender.trials]
        best = contender.trials[scores.index(max(scores))]
        assert (result.config.lr, result.config.seed) == (best.values["lr"], seed)
        assert (result.config.split_seed, result.config.validation) == (1000, 0.0)
    assert all(trial.outcome.score == pytest.approx(sum(trial.outcome.folds) / 3) for trial in contender.trials)
    assert all(trial.outcome.seconds > 0 for trial in contender.trials)

    with Store.open() as store:
        tuning = read_tuning(store, made.id)
        (read,) = tuning.contenders
        (shown,) = to_json(tuning, make_document(store, tuning))["contenders"]
    assert [final.seed for final in read.finals] == [0, 1]
    assert shown["chosen_by_fold"] == [trial.number for trial in map(contender.chosen_by, FOLDS) if trial]
    assert [trial["folds"] for trial in shown["trials"]] == [trial.outcome.folds for trial in contender.trials]
    by_hand = [sum(made.finals[0][seed, fold].metrics["test/accuracy"] for fold in FOLDS) / 3 for seed in (0, 1)]
    assert [final.value for final in read.finals] == pytest.approx(by_hand)


def tried(*scores: tuple[float, ...]) -> Contender:
    """A contender whose trials have these scores by fold."""
    space = parse_space(["lr=0.1..1"])
    trials = [
        Trial(number, {"lr": 0.1}, Outcome("finished", sum(folds) / len(folds), folds=folds))
        for number, folds in enumerate(scores)
    ]
    return Contender(Study(space, "quasi-random", "none", 1), trials=trials)


def test_a_fold_chooses_by_its_own_score_and_the_first_of_equal_ones() -> None:
    made = tried((0.5, 0.9, 0.6), (0.6, 0.5, 0.9), (0.6, 0.8, 0.9))
    chosen = [made.chosen_by(fold) for fold in FOLDS]
    assert [trial.number for trial in chosen if trial] == [1, 0, 1]
    assert made.chosen is not None
    assert made.chosen.number == 2  # the best mean is nobody's choice


@pytest.mark.parametrize("changes", [{"sampler": "tpe"}, {"pruner": "median"}, {"budget": Budget(seconds=60)}])
def test_what_would_let_folds_learn_from_each_other_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(
        UsageError, match=r"toy_graphs is cross-validated: (what one fold scores would|its time depends)"
    ):
        request(**changes)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"fold": 3}, "fold is 3, and there are 3; give 0 to 2"),
        ({"validation": 0.2}, "the test part of a fold is not scored after every epoch; set score_test=end or never"),
        ({"data": "digits", "model": "mlp", "folds": 0, "fold": 0}, "fold is 0, and digits has no folds"),
        ({"data": "digits", "model": "mlp", "folds": 0, "split_seed": 1}, "split_seed is 1, and digits has no folds"),
    ],
)
def test_folds_that_cannot_be_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        make_config(GRAPHS | settings)


def test_a_part_that_holds_out_nothing_is_refused_before_anything_is_trained() -> None:
    with pytest.raises(UsageError, match=r"validation is 0\.01: of 26 examples, 0 are held out"):
        tune(request(validation=0.01))


def test_settings_of_folds_are_part_of_a_fingerprint_unless_they_are_left_open() -> None:
    plain = make_config(GRAPHS)
    changed = [replace(plain, fold=0), replace(plain, split_seed=0), replace(plain, score_test="end")]
    assert len({one.fingerprint() for one in [plain, *changed]}) == 4


@pytest.mark.slow
def test_a_final_run_is_bit_equal_to_the_run_that_train_makes_of_its_settings(
    normbench: RunCommand, watched: Watched
) -> None:
    result = watched.tuning.finals[0][1, 2]
    config = result.config
    names = ("data", "model", "folds", "epochs", "lr", "seed", "fold", "split_seed", "score_test")
    words = [word for name in names for word in ("--set", f"{name}={getattr(config, name)}")]
    ended = normbench("train", *words, "--json")
    assert ended.code == 0, ended.err
    assert f'"fingerprint": "{result.fingerprint}"' in ended.out
    assert f'"test/loss": {result.metrics["test/loss"]!r}' in ended.out
