"""The search without any training: which contender tries what and when, and which of its settings is chosen.

The caller passes the function that runs a trial, so the same code tunes networks and simulated objectives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from normbench_cli.experiments.tuning.request import Budget
from normbench_cli.experiments.tuning.sampling import Proposal, Study

TrialStatus = Literal["finished", "stopped", "diverged", "failed"]


@dataclass(frozen=True)
class Outcome:
    """How a trial ended.

    score: the validation score of its last epoch, 0 if it diverged, nan if it failed.  seconds: of training steps.
    epoch: the last one.  folds: the score of each fold of a cross-validation, whose mean is the score.
    """

    status: TrialStatus
    score: float
    seconds: float = 0.0
    epoch: int = 0
    run_id: str = ""
    message: str = ""
    folds: tuple[float, ...] = ()

    def of_fold(self, fold: int | None) -> float:
        """The score of a fold, or of the whole trial if it is None."""
        return self.score if fold is None else self.folds[fold]


@dataclass(frozen=True)
class Trial:
    number: int
    values: Mapping[str, float]
    outcome: Outcome


@dataclass
class Contender:
    """One contender's study, and its trials so far.  examples: the size of the validation set that scores them."""

    study: Study
    examples: int = 0
    trials: list[Trial] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return sum(trial.outcome.seconds for trial in self.trials)

    @property
    def chosen(self) -> Trial | None:
        """The finished trial with the best score, the first among ties; None if none finished."""
        return self.chosen_by(None)

    def chosen_by(self, fold: int | None) -> Trial | None:
        """The same by the score of one fold alone, which does not depend on the graphs that test this fold."""
        finished = [trial for trial in self.trials if trial.outcome.status == "finished"]
        return max(finished, key=lambda trial: trial.outcome.of_fold(fold), default=None)


MakeTrial = Callable[[int, Proposal], Outcome]  # contender's index, what to try


def run_round_robin(
    contenders: Sequence[Contender], budget: Budget, make_trial: MakeTrial
) -> Iterator[tuple[int, Trial]]:
    """Run the trials of all contenders round-robin, until no contender has budget left.

    The order ensures that an interrupted tuning has spent equally on all.
    """
    asked = True
    while asked:
        asked = False
        for index, contender in enumerate(contenders):
            if budget.is_left(len(contender.trials), contender.seconds):
                asked = True
                proposal = contender.study.ask()
                outcome = make_trial(index, proposal)
                trial = Trial(proposal.number, proposal.values, outcome)
                score = None if outcome.status == "failed" else outcome.score
                contender.study.tell(proposal, score, stopped=outcome.status == "stopped")
                contender.trials.append(trial)
                yield index, trial
