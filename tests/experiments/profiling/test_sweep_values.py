"""The words of --sweep: values between slashes, dots that continue them, and what is refused."""

from __future__ import annotations

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.experiments.profiling.sweep_values import parse_sweep


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("batch-size=8/16/32", (8, 16, 32)),
        ("batch_size=8/16/.../512", (8, 16, 32, 64, 128, 256, 512)),
        ("width=16/32/.../80", (16, 32, 48, 64, 80)),
        ("width=3/9/.../81", (3, 9, 27, 81)),
        ("size= 32 /8/8", (32, 8)),
    ],
)
def test_values_are_read_in_their_order(text: str, values: tuple[int, ...]) -> None:
    assert parse_sweep(text).values == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("batch-size", "names no values"),
        ("bach-size=8/16", "did you mean 'batch-size'"),
        ("width=8", "has one value"),
        ("width=8/8", "has one value"),
        ("width=8/0", "'0' is not a whole number"),
        ("width=8//16", "'' is not a whole number"),
        ("width=8/1.5", "'1.5' is not a whole number"),
        ("width=8/²", "'²' is not a whole number"),
        ("width=8/" + "9" * 5000, "is not a whole number"),
        ("width=8/.../32", "stands between two values and the last"),
        ("width=.../8", "stands between two values and the last"),
        ("width=8/16/...", "stands between two values and the last"),
        ("width=8/16/.../33", "lead to 33"),
        ("width=16/8/.../2", "lead to 2"),
        ("width=1/3/.../999999999", "lead to 999999999"),
    ],
)
def test_other_words_are_one_line(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        parse_sweep(text)
    assert "\n" not in str(refused.value)


def test_a_dimension_is_replaced_and_named_by_its_letter() -> None:
    shape = (128, 64, 32, 16)
    for name, reshaped, series in (
        ("batch-size", (8, 64, 32, 16), "Nx64x32x16"),
        ("width", (128, 8, 32, 16), "128xCx32x16"),
        ("size", (128, 64, 8, 8), "128x64xSxS"),
    ):
        sweep = parse_sweep(f"{name}=8/16")
        assert sweep.reshape(shape, 8) == reshaped
        assert sweep.series("x".join(map(str, shape))) == series
    assert parse_sweep("batch-size=8/16").series("") == ""
    with pytest.raises(UsageError, match="128x64 has no height and width"):
        parse_sweep("size=8/16").reshape((128, 64), 8)
