"""Groups at their best: the settings are chosen by another metric, for each activation, and compared by seed."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from normbench_cli.reporting.claims import judge
from normbench_cli.suites import Claim

POP, BN = ({"norm": (name,)} for name in ("popnorm", "batchnorm"))
SEEDS = range(8)
# norm, init_gain -> validation accuracy, test accuracy: chosen by the first, compared by the second
SCORES = {
    ("popnorm", 1.0): (0.70, 0.90),
    ("popnorm", 3.0): (0.80, 0.78),
    ("batchnorm", 1.0): (0.60, 0.50),
    ("batchnorm", 6.0): (0.75, 0.70),
}


def frame(seeds: range = SEEDS) -> Any:
    names = ("validation/accuracy", "test/accuracy")
    return pd.DataFrame(
        {
            "suite": "mine",
            "norm": norm,
            "act": "sigmoid",
            "init_gain": gain,
            "epochs": None,
            "seed": seed,
            "run_id": f"{norm}{gain}{seed}",
            "metric": name,
            "epoch": math.nan,
            "value": value + 0.001 * (-1) ** (seed + (norm == "popnorm") * (seed >> 1)),
        }
        for (norm, gain), values in SCORES.items()
        for name, value in zip(names, values, strict=True)
        for seed in seeds
    )


def claim(test: str, **bounds: float) -> Claim:
    best = "validation/accuracy"
    return Claim("one", "One.", test, "test/accuracy", ("mine",), best_by=best, groups=(POP, BN), bounds=bounds)


def test_each_group_is_compared_at_the_settings_that_validation_chooses() -> None:
    found = judge(claim("difference", least=0.06, most=0.10), frame())
    assert (found.verdict, found.n) == ("holds", len(SEEDS))  # 0.78 - 0.70, not 0.90 - 0.50
    assert "difference +0.08" in found.test
    assert "(sigmoid popnorm init_gain=3, best of 2" in found.test
    assert "; sigmoid batchnorm init_gain=6" in found.test


def test_the_ratio_is_of_the_same_runs() -> None:
    assert "ratio 1.114," in judge(claim("ratio", most=1.0), frame()).test


def test_one_seed_decides_nothing_and_its_estimate_is_shown() -> None:
    found = judge(claim("difference", least=0.06), frame(range(1)))
    assert (found.verdict, found.n) == ("not enough evidence", 1)
    assert "difference +0.08" in found.test
    assert found.test.endswith("one seed")


def test_a_second_seed_counts_only_if_every_group_was_run_with_it() -> None:
    found = frame(range(2))
    more = found[(found["norm"] == "popnorm") | (found["seed"] == 0)]
    assert judge(claim("difference", least=0.06), more).test.endswith("one seed")
    assert not judge(claim("difference", least=0.06), found).test.endswith("one seed")
