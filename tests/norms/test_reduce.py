"""Sums over channels, in one chunk or many, against torch's own in float64."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from normbench_cli.norms._batch import reduce
from normbench_cli.norms._batch.reduce import (
    CHUNK,
    channel_sum,
    chunks,
    map_chunks,
    moments,
    normalize_about,
    sum_chunks,
)

SHAPES = [(n, 3) for n in (1, 7, 16, 17, 48, 64, 65, 96, 192)]
SHAPES_3D = [(n, 3, 5) for n in (1, 2, 6, 7, 12, 24, 48, 64, 96, 192)] + [(4, 3, 5000), (6, 3, 2000), (128, 3, 65)]
shapes = pytest.mark.parametrize("shape", [*SHAPES, *SHAPES_3D], ids=str)


def data(*shape: int, seed: int = 0) -> Tensor:
    return 2 * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 1


def axes(x: Tensor) -> tuple[int, ...]:
    return (0,) if x.ndim == 2 else (0, 2)


@shapes
def test_the_sum_over_a_channel_is_torchs(shape: tuple[int, ...]) -> None:
    torch.testing.assert_close(channel_sum(data(*shape)), data(*shape).sum(axes(data(*shape))))


@pytest.mark.parametrize("chunk", [1, 100, CHUNK], ids=["rows", "a few rows", "one"])
@shapes
def test_chunks_change_no_result(shape: tuple[int, ...], chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduce, "CHUNK", chunk)
    x, other = data(*shape), data(*shape, seed=1)
    sums = sum_chunks(lambda a, b: (a * b, a), x, other)
    torch.testing.assert_close(list(sums), [(x * other).sum(axes(x)), x.sum(axes(x))])
    mapped = map_chunks(lambda a, b: a * b + 1, torch.float32, x, other)
    torch.testing.assert_close(mapped, (x * other + 1).float())
    torch.testing.assert_close(list(moments(x)), [x.mean(axes(x)), x.var(axes(x), correction=0)])


@pytest.mark.parametrize("width", [1, 3, 1000, CHUNK, CHUNK + 1])
def test_a_chunk_has_as_many_whole_rows_as_fit_and_at_least_one(width: int) -> None:
    fitting = max(CHUNK // width, 1)
    for rows in (fitting, 2 * fitting + 1):
        x = torch.empty(1).expand(rows, width)
        sizes = [len(part) for (part,) in chunks(x)]
        assert sizes == ([fitting] if rows == fitting else [fitting, fitting, 1])
        assert len(chunks(x.to("meta"))) == 1  # whose values cannot be read
    assert len(chunks(torch.empty(5, 0))) == 1


@pytest.mark.parametrize("shape", [(63, 3), (64, 3), (200, 3), (70, 3, 4)], ids=str)
def test_moments_keep_their_digits_far_from_zero(shape: tuple[int, ...]) -> None:
    x = data(*shape).float() + 1e4
    exact = x.double()
    mean, var = moments(x)
    torch.testing.assert_close(mean.double(), exact.mean(axes(x)), rtol=1e-6, atol=0)
    torch.testing.assert_close(var.double(), exact.var(axes(x), correction=0), rtol=1e-4, atol=0)


def test_the_variance_is_zero_for_equal_values_and_infinite_where_squares_overflow() -> None:
    assert moments(torch.full((80, 2), 3.7))[1].abs().max() < 1e-9
    assert (moments(torch.full((80, 2), 3.7))[1] >= 0).all()
    x = torch.tensor([[1e30, 1.0], [-1e30, 2.0]])
    assert moments(x)[1].tolist() == [float("inf"), 0.25]


@pytest.mark.parametrize("with_affine", [True, False])
@pytest.mark.parametrize("shape", [(7, 3), (7, 3, 5)], ids=str)
def test_normalization_about_a_center_is_its_equation(shape: tuple[int, ...], with_affine: bool) -> None:
    x, mu = data(*shape), data(3, seed=1)
    gamma, beta = (data(3, seed=2), data(3, seed=3)) if with_affine else (torch.ones(3), torch.zeros(3))
    y, var = normalize_about(x, mu, gamma if with_affine else None, beta if with_affine else None, 0.3)
    one_a_channel = (3, *[1] * (len(shape) - 2))
    d = x - mu.view(one_a_channel)
    square = d.square().mean(axes(x), keepdim=True)
    torch.testing.assert_close(y, gamma.view(one_a_channel) * d / (square + 0.3).sqrt() + beta.view(one_a_channel))
    torch.testing.assert_close(var, square.flatten())
