"""Each test of groups on constructed runs: holds, does not hold, not enough evidence."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from normbench_cli.reporting.claims import judge
from normbench_cli.suites import Claim

BN, POP, AUG = ({"norm": (name,)} for name in ("batchnorm", "popnorm", "augnorm"))


def frame(gains: dict[str, float], seeds: int = 8, spread: float = 0.002, acts: tuple[str, ...] = ("relu",)) -> Any:
    """Runs with an accuracy of 0.8 and a gain for their norm.  Over eight seeds their deviations cancel out, those of
    one norm independently of those of another."""
    signs = {norm: [(-1) ** (seed >> bit & 1) for seed in range(seeds)] for bit, norm in enumerate(gains)}
    rows = [
        {
            "norm": norm,
            "act": act,
            "data": "digits",
            "seed": seed,
            "run_id": f"{norm}{act}{seed}",
            "metric": "test/accuracy",
            "epoch": math.nan,
            "value": 0.8 + gain + spread * signs[norm][seed],
        }
        for norm, gain in gains.items()
        for act in acts
        for seed in range(seeds)
    ]
    return pd.DataFrame(rows)


def claim(test: str, *groups: Any, **bounds: float) -> Claim:
    return Claim("one", "One.", test, "test/accuracy", ("mine",), groups=groups, bounds=bounds)


Case = tuple[Claim, dict[str, float], str]
CASES: list[Case] = [
    (claim("difference", POP, BN, least=0.06, most=0.10), {"popnorm": 0.08, "batchnorm": 0}, "holds"),
    (claim("difference", POP, BN, least=0.06, most=0.10), {"popnorm": 0.02, "batchnorm": 0}, "does not hold"),
    (claim("difference", POP, BN, least=0.06, most=0.10), {"popnorm": 0.15, "batchnorm": 0}, "does not hold"),
    (claim("difference", POP, BN, least=0.06, most=0.10), {"popnorm": 0.0601, "batchnorm": 0}, "not enough evidence"),
    (claim("equal", AUG, BN, margin=0.005), {"augnorm": 0.001, "batchnorm": 0}, "holds"),
    (claim("equal", AUG, BN, margin=0.005), {"augnorm": -0.02, "batchnorm": 0}, "does not hold"),
    (claim("equal", AUG, BN, margin=0.005), {"augnorm": 0.005, "batchnorm": 0}, "not enough evidence"),
    (claim("ratio", POP, BN, most=1.0), {"popnorm": -0.1, "batchnorm": 0}, "holds"),
    (claim("ratio", POP, BN, most=1.0), {"popnorm": 0.1, "batchnorm": 0}, "does not hold"),
    (claim("ratio", POP, BN, most=1.0), {"popnorm": 0, "batchnorm": 0}, "not enough evidence"),
    (claim("highest", POP, BN, AUG), {"popnorm": 0.1, "batchnorm": 0, "augnorm": 0}, "holds"),
    (claim("highest", POP, BN, AUG), {"popnorm": 0.1, "batchnorm": 0, "augnorm": 0.2}, "does not hold"),
    (claim("highest", POP, BN, AUG), {"popnorm": 0.1, "batchnorm": 0, "augnorm": 0.1}, "not enough evidence"),
    (claim("lowest", POP, BN, AUG), {"popnorm": -0.1, "batchnorm": 0, "augnorm": 0}, "holds"),
    (claim("lowest", POP, BN, AUG), {"popnorm": 0.1, "batchnorm": 0, "augnorm": 0}, "does not hold"),
    (claim("lowest", POP, BN, AUG), {"popnorm": 0, "batchnorm": 0, "augnorm": 0.1}, "not enough evidence"),
    (claim("order", BN, AUG, POP), {"batchnorm": 0, "augnorm": 0.1, "popnorm": 0.2}, "holds"),
    (claim("order", BN, AUG, POP), {"batchnorm": 0, "augnorm": 0.2, "popnorm": 0.1}, "does not hold"),
    (claim("order", BN, AUG, POP), {"batchnorm": 0, "augnorm": 0.1, "popnorm": 0.1}, "not enough evidence"),
]


@pytest.mark.parametrize(("asked", "gains", "verdict"), CASES, ids=range(len(CASES)))
def test_a_claim_is_decided_by_its_interval(asked: Claim, gains: dict[str, float], verdict: str) -> None:
    found = judge(asked, frame(gains))
    assert (found.verdict, found.n) == (verdict, 8)
    assert "95 % interval" in found.test


@pytest.mark.parametrize(
    ("test", "bounds", "claimed", "value"),
    [
        ("difference", {"least": 0.0}, "claimed above 0", 0.1),
        ("difference", {"least": 0.06, "most": 0.08}, "claimed 0.06 to 0.08", 0.1),
        ("equal", {"margin": 0.01}, "claimed -0.01 to 0.01", 0.1),
        ("ratio", {"most": 1.0}, "claimed below 1", 1.125),
    ],
)
def test_an_estimate_is_between_its_limits_and_the_claimed_bounds_are_named(
    test: str, bounds: dict[str, float], claimed: str, value: float
) -> None:
    found = judge(claim(test, POP, BN, **bounds), frame({"popnorm": 0.1, "batchnorm": 0}))
    assert claimed in found.test
    assert found.estimate is not None
    assert found.estimate.low < found.estimate.value < found.estimate.high
    assert found.estimate.value == pytest.approx(value, abs=0.01)


@pytest.mark.parametrize(("asked", "gains"), [(asked, gains) for asked, gains, _ in CASES], ids=range(len(CASES)))
@pytest.mark.parametrize("seeds", [1, 5])
def test_few_seeds_decide_nothing(asked: Claim, gains: dict[str, float], seeds: int) -> None:
    """With five pairs the permutation test cannot go below 1/16."""
    assert judge(asked, frame(gains, seeds, spread=1e-5)).verdict == "not enough evidence"


def everywhere(change: Callable[[Any], Any]) -> str:
    runs = change(frame({"popnorm": 0.1, "batchnorm": 0}, acts=("relu", "tanh", "sigmoid")))
    return judge(claim("everywhere", POP, BN), runs).verdict


def test_everywhere_looks_at_each_combination_of_the_other_settings() -> None:
    def change(runs: Any, by: float) -> Any:
        of_tanh = (runs["act"] == "tanh") & (runs["norm"] == "popnorm")
        return runs.assign(value=runs["value"] + by * of_tanh)

    assert everywhere(lambda runs: runs) == "holds"
    assert everywhere(lambda runs: change(runs, -0.2)) == "does not hold"
    assert everywhere(lambda runs: change(runs, -0.1)) == "not enough evidence"


def test_pairs_have_equal_settings_and_a_diverged_run_has_no_pair() -> None:
    runs = frame({"popnorm": 0.1, "batchnorm": 0}, seeds=9)
    runs.loc[runs["run_id"] == "popnormrelu3", "value"] = math.nan
    runs = runs[runs["run_id"] != "batchnormrelu5"]
    assert judge(claim("difference", POP, BN, least=0.05), runs).n == 7


def test_no_pair_and_no_run_are_said() -> None:
    runs = frame({"popnorm": 0.1})
    assert judge(claim("difference", POP, BN, least=0.0), runs).test == "no pairs of runs"
    assert judge(claim("highest", POP, BN), runs).test == "no pairs of runs"
    assert judge(claim("difference", POP, BN, least=0.0), runs.iloc[:0]).test == "no run"


def test_the_filter_of_a_claim_chooses_its_runs() -> None:
    runs = pd.concat(
        [frame({"popnorm": 0.1, "batchnorm": 0}), frame({"popnorm": -0.1, "batchnorm": 0}, acts=("tanh",))]
    )
    asked = claim("difference", POP, BN, least=0.0)
    chosen = Claim(**{**vars(asked), "where": {"act": ("tanh",)}})
    assert judge(asked, runs).verdict == "not enough evidence"
    assert judge(chosen, runs).verdict == "does not hold"
