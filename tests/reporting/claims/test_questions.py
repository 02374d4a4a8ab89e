"""Every hypothesis of the questions' suites on made-up results of their own cells: true it holds, false it does not."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from normbench_cli import suites
from normbench_cli.config import IDENTITY
from normbench_cli.reporting.claims import judge
from normbench_cli.suites.scales import paper_config

CLAIMS = [claim for claim in suites.claims() if claim.suites[0].startswith("questions/")]
SEEDS = 8
Value = Callable[[dict[str, Any], int], float]


def frame_of(claim: suites.Claim, value: Value) -> pd.DataFrame:
    """A run for each configuration of the claim's suites and each seed, with a value for the claim's metric."""
    cells = [cell for name in claim.suites for cell in suites.find(name).cells]
    settings = {paper_config(cell, 0): None for cell in cells}
    rows = []
    for config in settings:
        own = {name: getattr(config, name) for name in IDENTITY}
        for seed in range(SEEDS):
            wobble = 0.0005 * math.sin(7 * seed + zlib.crc32(config.norm.encode()))
            rows.append(
                own
                | {"seed": seed, "run_id": f"{config.fingerprint()}-{seed}", "metric": claim.metric}
                | {"epoch": math.nan, "value": value(own, seed) + wobble}
            )
    return pd.DataFrame(rows)


def in_group(claim: suites.Claim, number: int, own: dict[str, Any]) -> bool:
    return bool(claim.groups) and all(own[name] in values for name, values in claim.groups[number].items())


def planted(claim: suites.Claim, *, truth: bool) -> Value:
    """Values by which a claim is clearly true, or clearly false."""
    if claim.test == "share":
        return lambda own, seed: 0.001 if truth else 0.2
    if claim.test == "equal":
        return lambda own, seed: 0.8 + (0 if truth else 0.1) * in_group(claim, 0, own)
    return lambda own, seed: 0.8 + (0.1 if truth else -0.1) * in_group(claim, 0, own)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_planted_truth_is_found_and_so_is_its_opposite(claim: suites.Claim) -> None:
    verdicts = [judge(claim, frame_of(claim, planted(claim, truth=truth))).verdict for truth in (True, False)]
    assert verdicts == ["holds", "does not hold"]


def test_every_suite_of_questions_has_a_hypothesis() -> None:
    assert {name for claim in CLAIMS for name in claim.suites} == {
        name for name in suites.names() if name.startswith("questions/")
    }
