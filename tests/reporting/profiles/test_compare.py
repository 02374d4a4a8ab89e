"""A profile beside an earlier one: ratios in calibrations, intervals, and what else differs."""

from __future__ import annotations

import numpy as np
import pytest

from normbench_cli.errors import UsageError
from normbench_cli.reporting.document import Paragraph, Table
from normbench_cli.reporting.profiles.calibrated import ratio_between
from normbench_cli.reporting.profiles.compare import (
    check_comparable,
    compare_profiles,
    find_profile,
    notes,
    remark,
    to_document,
)
from normbench_cli.reporting.profiles.recorded import Samples
from normbench_cli.store import Store
from tests.reporting.profiles.conftest import PLACE, Enter


def noisy(level: float, rounds: int, seed: int) -> np.ndarray:
    return level * np.exp(np.random.default_rng(seed).normal(0, 0.05, rounds))


def test_a_slower_machine_is_no_slower_norm(store: Store, enter: Enter) -> None:
    earlier = enter({"popnorm": noisy(1.0, 20, 0).tolist()})
    now = enter({"popnorm": noisy(3.0, 25, 1).tolist(), "none": [1.0]}, day=9, calibration=3.0)
    made = compare_profiles(store, now, find_profile(store, earlier["popnorm"][:6]), "x")
    (row,) = made.rows
    assert row["ratio"] == pytest.approx(1, abs=0.03)
    assert row["ratio_low"] < 1 < row["ratio_high"]
    assert row["calibration"] == pytest.approx(3)
    assert made.differences == []
    assert "are the same" in remark(made)
    assert any("differ by more than 15%" in note for note in notes(made))


def test_a_slower_norm_is_told_with_what_else_differs(store: Store, enter: Enter) -> None:
    earlier = enter({"popnorm": noisy(1.0, 20, 0).tolist()}, calibration=None)
    then = find_profile(store, earlier["popnorm"])
    now = enter({"popnorm": noisy(1.2, 20, 1).tolist()}, day=1, threads=1, config={"batch_size": 8, "amp": "bf16"})
    made = compare_profiles(store, now, then, "x")
    assert made.rows[0]["ratio_low"] > 1.1
    assert made.differences == [
        {"name": "amp", "then": "-", "now": "bf16"},  # the batch size of a training is none of a layer
        {"name": "threads", "then": "2", "now": "1"},
    ]
    first, _, table = to_document(made).blocks
    assert isinstance(first, Paragraph)
    assert isinstance(table, Table)
    assert "Not the same: amp, threads" in first.text
    assert [cell.text for cell in table.rows[0]][-2:] == ["slower", "-"]
    assert "Without a calibration" in " ".join(table.notes)


def test_the_interval_holds_the_true_ratio_as_often_as_it_says() -> None:
    """Of 400 pairs of profiles with 8 and 12 rounds, 95 % +- 2.5 % (2.3 sd)."""
    held = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        own, base = rng.lognormal(np.log(1.1), 0.1, 8), rng.lognormal(0, 0.1, 12)
        _, low, high = ratio_between(Samples(own, own[:0]), Samples(base, base[:0]))
        held += low <= 1.1 <= high
    assert 0.925 * 400 <= held <= 0.985 * 400


def test_what_cannot_be_compared_is_refused_before_anything_is_measured(store: Store, enter: Enter) -> None:
    training = store.begin({"norm": "none"}, "x", {}, argv=[])
    with pytest.raises(UsageError, match="is no profile"):
        find_profile(store, training)
    with pytest.raises(UsageError, match="is running"):
        find_profile(store, store.begin({"norm": "none"}, "y", {}, kind="profile", argv=[]))
    then = find_profile(store, enter({"popnorm": [1.0]})["popnorm"])
    check_comparable(store, then, ["popnorm"], [PLACE, "2x2"])
    with pytest.raises(UsageError, match="it measured 8x4"):
        check_comparable(store, then, ["popnorm"], ["2x2"])
    with pytest.raises(UsageError, match="no norm and shape in common"):
        check_comparable(store, then, ["augnorm"], [PLACE])
