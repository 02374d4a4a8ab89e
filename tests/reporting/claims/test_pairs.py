"""Which runs belong together: those of equal seed that are equal in all settings that the groups share."""

from __future__ import annotations

from typing import Any

import pandas as pd

from normbench_cli.reporting.claims.pairs import pairs

BN, LN = {"norm": ("batchnorm",)}, {"norm": ("layernorm",)}


def runs(*rows: tuple[str, int, float, float]) -> pd.DataFrame:
    """norm, batch size, learning rate, value; one seed."""
    columns: list[Any] = ["norm", "batch_size", "lr", "value"]
    return pd.DataFrame(list(rows), columns=columns).assign(seed=0, data="digits")


def values(frame: pd.DataFrame) -> list[tuple[float, float]]:
    found = pairs(frame, BN, LN)
    return sorted(zip(found["a"], found["b"], strict=True))


def test_runs_of_another_batch_size_are_no_pair() -> None:
    frame = runs(
        ("batchnorm", 2, 0.1, 1.0), ("batchnorm", 64, 0.1, 2.0), ("layernorm", 64, 0.1, 4.0), ("layernorm", 2, 0.1, 3.0)
    )
    assert values(frame) == [(1.0, 3.0), (2.0, 4.0)]


def test_a_setting_in_which_the_groups_differ_altogether_does_not_part_them() -> None:
    """A recipe may give a norm a learning rate of its own."""
    frame = runs(("batchnorm", 2, 0.1, 1.0), ("layernorm", 2, 0.5, 3.0))
    assert values(frame) == [(1.0, 3.0)]


def test_a_run_without_its_like_has_no_pair() -> None:
    frame = runs(("batchnorm", 2, 0.1, 1.0), ("batchnorm", 64, 0.1, 2.0), ("layernorm", 64, 0.1, 4.0))
    assert values(frame) == [(2.0, 4.0)]
