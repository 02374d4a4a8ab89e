"""The bytes that a layer must move, by hand."""

from __future__ import annotations

import pytest

from normbench_cli.measure.bytes_moved import moved_bytes, working_set_bytes
from normbench_cli.measure.cases import PASSES, LayerCase


@pytest.mark.parametrize(
    ("timed", "moved", "working_set"),
    [("forward", 67_108_864, 2), ("eval", 67_108_864, 2), ("backward", 100_663_296, 3), ("both", 167_772_160, 4)],
)
def test_batch_norm_on_the_first_shape_of_resnet18(timed: str, moved: int, working_set: int) -> None:
    case = LayerCase((128, 64, 32, 32), timed=timed)
    tensor = 128 * 64 * 32 * 32 * 4
    assert (moved_bytes(case), working_set_bytes(case)) == (moved, working_set * tensor)


@pytest.mark.parametrize("timed", PASSES)
def test_half_as_wide_a_type_moves_half_of_the_bytes(timed: str) -> None:
    wide, narrow = (LayerCase((8, 3), dtype, timed=timed) for dtype in ("float32", "bfloat16"))
    assert moved_bytes(wide) == 2 * moved_bytes(narrow)
