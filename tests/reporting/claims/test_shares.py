"""Each test of all runs on constructed ones: holds, does not hold, not enough evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd
import pytest

from normbench_cli.reporting.claims import judge
from normbench_cli.suites import Claim


def runs(values: Sequence[float], metric: str = "solver/residual") -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"norm": "augnorm", "seed": n, "run_id": str(n), "metric": metric, "epoch": math.nan, "value": value}
            for n, value in enumerate(values)
        ]
    )


def claim(test: str, metric: str = "solver/residual", other: str = "", **bounds: float) -> Claim:
    return Claim("one", "One.", test, metric, ("mine",), other=other, bounds=bounds)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([0.0] * 12, "holds"),
        ([1.0] * 12, "does not hold"),
        ([0.0] * 8 + [1.0] * 4, "not enough evidence"),
        ([0.0], "not enough evidence"),
        ([math.nan] * 12, "does not hold"),  # runs that diverged
    ],
    ids=range(5),
)
def test_share(values: list[float], verdict: str) -> None:
    found = judge(claim("share", most=0.001, share=2 / 3), runs(values))
    assert (found.verdict, found.n) == (verdict, len(values))


def curves(*values: Sequence[float]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"norm": "bn", "seed": n, "run_id": str(n), "metric": "weights/l2", "epoch": float(epoch), "value": value}
            for n, curve in enumerate(values)
            for epoch, value in reversed(list(enumerate(curve)))
        ]
    )


@pytest.mark.parametrize(
    ("values", "verdict", "n"),
    [
        ([range(31), range(31)], "holds", 60),
        ([range(31), range(31, 0, -1)], "does not hold", 60),
        ([range(3)], "not enough evidence", 2),
        ([[1.0]], "not enough evidence", 0),
    ],
    ids=range(4),
)
def test_monotone(values: list[Sequence[float]], verdict: str, n: int) -> None:
    found = judge(claim("monotone", "weights/l2"), curves(*values))
    assert (found.verdict, found.n) == (verdict, n)


def weights_and_losses(losses: Sequence[float], seeds: int = 2) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "norm": f"norm{n}",
                "seed": seed,
                "run_id": f"{n}-{seed}",
                "metric": metric,
                "epoch": math.nan,
                "value": value,
            }
            for n, loss in enumerate(losses)
            for seed in range(seeds)
            for metric, value in (("weights/l2", float(n)), ("drop", loss))
        ]
    )


@pytest.mark.parametrize(
    ("losses", "verdict", "n"),
    [
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "holds", 6),
        ([0.6, 0.5, 0.4, 0.3, 0.2, 0.1], "does not hold", 6),
        ([0.1, 0.3, 0.2, 0.6, 0.5, 0.1], "not enough evidence", 6),
        ([0.1, 0.2, 0.3], "not enough evidence", 3),
        ([0.1] * 6, "not enough evidence", 6),
    ],
    ids=range(5),
)
def test_association(losses: list[float], verdict: str, n: int) -> None:
    found = judge(claim("association", "drop", "weights/l2"), weights_and_losses(losses))
    assert (found.verdict, found.n) == (verdict, n)


def test_association_needs_both_metrics() -> None:
    found = judge(claim("association", "drop", "gone"), weights_and_losses([0.1, 0.2]))
    assert found.test == "no run has both metrics"
