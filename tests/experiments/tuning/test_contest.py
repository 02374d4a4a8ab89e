"""The search: contenders take turns, spend alike, and the best finished trial is chosen."""

from __future__ import annotations

from normbench_cli.experiments.tuning.contest import Contender, Outcome, run_round_robin
from normbench_cli.experiments.tuning.request import Budget
from normbench_cli.experiments.tuning.sampling import Proposal, Study
from normbench_cli.experiments.tuning.space import parse_space


def contenders(count: int = 2) -> list[Contender]:
    return [Contender(Study(parse_space([]), "quasi-random", "none", 10)) for _ in range(count)]


def test_contenders_take_turns_and_try_the_same() -> None:
    asked = []

    def make_trial(index: int, proposal: Proposal) -> Outcome:
        asked.append((index, proposal.values))
        return Outcome("finished", 0.5)

    made = list(run_round_robin(contenders(), Budget(trials=3), make_trial))
    assert [index for index, _ in made] == [0, 1, 0, 1, 0, 1]
    assert [values for index, values in asked if index == 0] == [values for index, values in asked if index == 1]


def test_a_budget_of_time_gives_a_slow_contender_fewer_trials() -> None:
    both = contenders()
    made = list(
        run_round_robin(both, Budget(seconds=10), lambda index, _: Outcome("finished", 0.5, seconds=2 + 3 * index))
    )
    assert [len(one.trials) for one in both] == [5, 2]
    assert len(made) == 7


def test_chosen_is_the_first_of_the_best_trials_that_finished() -> None:
    (one,) = contenders(1)
    ends = [("stopped", 0.99), ("finished", 0.8), ("diverged", 0.0), ("failed", float("nan")), ("finished", 0.8)]
    turns = iter(ends)
    for _ in run_round_robin([one], Budget(trials=5), lambda *_: Outcome(*next(turns))):  # type: ignore[arg-type]
        pass
    assert one.chosen is not None
    assert one.chosen.number == 1


def test_nothing_is_chosen_where_nothing_finished() -> None:
    (one,) = contenders(1)
    list(run_round_robin([one], Budget(trials=2), lambda *_: Outcome("diverged", 0.0)))
    assert one.chosen is None
