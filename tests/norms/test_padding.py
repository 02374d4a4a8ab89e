"""Padded batches: every row has a place, and there are at most four places a row."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from normbench_cli.norms._padding import make_padding, padding_of


@settings(max_examples=40, deadline=None)
@given(sizes=st.lists(st.integers(0, 70), min_size=1, max_size=12).filter(any), seed=st.integers(0, 9))
def test_rows_come_back_and_padding_is_bounded(sizes: list[int], seed: int) -> None:
    batch = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    padding, x = make_padding(batch, len(sizes)), torch.randn(len(batch), 2)
    padded = [each.gather(x) for each in padding.batches]
    assert torch.equal(padding.to_rows(padded), x)
    assert sum(t.shape[0] * t.shape[1] for t in padded) <= 4 * len(batch)
    for each, data in zip(padding.batches, padded, strict=True):
        assert each.most == each.sizes.max()
        for segment, values in zip(each.segments, data, strict=True):
            rows = x[batch == int(segment)]
            assert torch.equal(values[: len(rows)], rows)
            assert (values[len(rows) :] == rows[0]).all()  # and so no value of another segment


def test_a_batch_is_laid_out_once_until_it_changes() -> None:
    batch = torch.tensor([0, 0, 1])
    first = padding_of(batch, 2)
    assert padding_of(batch, 2) is first
    assert padding_of(batch.clone(), 2) is not first
    batch[1] = 1
    assert padding_of(batch, 2).batches[0].sizes.flatten().tolist() == [1, 2]
    assert padding_of(batch, 3) is not padding_of(batch, 2)
