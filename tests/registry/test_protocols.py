"""Components of normbench fulfil the Protocols that components from outside are asked for."""

from __future__ import annotations

import pytest

from normbench_cli.attacks.bim import BIM
from normbench_cli.attacks.protocols import Attack, ClipsInputs
from normbench_cli.models.mlp import MLP
from normbench_cli.models.protocols import ModelFactory
from normbench_cli.objectives.chi2_doro import Chi2DORO
from normbench_cli.objectives.erm import ERM
from normbench_cli.objectives.protocols import LeavesOut, Objective
from normbench_cli.registry import MODELS
from normbench_cli.schedules.cosine import cosine
from normbench_cli.schedules.protocols import Schedule

# checked by mypy
SCHEDULE: Schedule = cosine
MODEL: ModelFactory = MLP
OBJECTIVE: Objective = ERM()
ATTACK: Attack = BIM()


def test_what_an_objective_or_an_attack_offers_is_seen() -> None:
    assert isinstance(ATTACK, ClipsInputs)
    assert isinstance(Chi2DORO(), LeavesOut)
    assert not isinstance(OBJECTIVE, LeavesOut)


@pytest.mark.parametrize("name", MODELS.choices())
def test_every_model_takes_what_the_program_supplies(name: str) -> None:
    assert {"norm", "act", "num_classes", "in_channels"} <= MODELS.entries[name].signature.names
