"""Thinning keeps one measured value of each block, and never one that was not measured."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.store import Store
from normbench_cli.store.queries import series
from normbench_cli.store.rows import kept_count, kept_indices, unpack
from normbench_cli.store.thin import thin_runs, thinned

Enter = Callable[..., str]


@given(st.lists(st.floats(width=32), max_size=60), st.integers(2, 20))
def test_a_block_keeps_one_of_its_measured_values(values: list[float], every: int) -> None:
    count, data = thinned(values, every)
    kept = unpack(data, count)
    assert len(kept) == kept_count(len(values), every) == len(kept_indices(len(values), every))
    for number, (value, place) in enumerate(zip(kept, kept_indices(len(values), every), strict=True)):
        block = values[number * every : (number + 1) * every]
        assert place // every == number
        assert place < len(values)
        assert value in block if not math.isnan(value) else all(map(math.isnan, block))


@pytest.mark.every_database
def test_a_series_is_thinned_once_and_keeps_its_steps(store: Store, enter: Enter) -> None:
    run_id = enter()
    for step in (20, 40):
        store.record(run_id, {}, step=step, series={"lr": [float(n) for n in range(step - 20, step)]})
    assert thin_runs(store, [run_id], 8, dry_run=True).values_after == 6
    assert len(series(store, run_id, "lr")) == 40
    thin_runs(store, [run_id], 8)
    assert not thin_runs(store, [run_id], 16).runs
    values = series(store, run_id, "lr")
    assert values.tolist() == values.index.tolist() == [3, 11, 17, 23, 31, 37]
