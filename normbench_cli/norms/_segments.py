"""Sums and means over segments of rows, such as the nodes of each graph, and their broadcast back to the rows.

x: (rows, ...); batch: (rows), the segment of each row, in any order; results: (segments, ...).
"""

from __future__ import annotations

from torch import Tensor


def segment_sum(x: Tensor, batch: Tensor, segments: int) -> Tensor:
    return x.new_zeros(segments, *x.shape[1:]).index_add(0, batch, x)


def segment_mean(x: Tensor, batch: Tensor, segments: int, sizes: Tensor) -> Tensor:
    """sizes: as from `segment_sizes`, (segments)."""
    return segment_sum(x, batch, segments) / sizes.unsqueeze(-1)


def segment_sizes(x: Tensor, batch: Tensor, segments: int) -> Tensor:
    """Rows in each segment; an empty segment counts as one row, so that nothing divides by zero."""
    return segment_sum(x.new_ones(len(x)), batch, segments).clamp_min(1)


def to_rows(per_segment: Tensor, batch: Tensor) -> Tensor:
    """Broadcast to rows.  Not `per_segment[batch]`, whose gradient is many times slower on a CPU."""
    return per_segment.index_select(0, batch)
