"""Layers with parts of a batch in several processes are those with the whole batch in one."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normbench_cli.norms import convert
from normbench_cli.norms._batch.processes import Processes
from normbench_cli.norms._batch.selection import ordered_integers
from normbench_cli.norms.batchnorm import BatchNorm
from normbench_cli.norms.ggm import generalized_median
from tests.gloo import run_processes
from tests.norms.synced_layers import EXACT, TO_TOLERANCE, joined, make_batch, make_layer, train_part, train_twice
from tests.norms.torch_sync_batchnorm import train_both

IMAGES, ROWS = (12, 5, 3, 3), (13, 5)
EVEN, UNEVEN, ONE_EMPTY = [0, 6, 12], [0, 4, 9, 13], [0, 7, 7, 12]


def parts_of(specs: list[str], shape: tuple[int, ...], dtype: torch.dtype, ends: list[int]) -> dict[str, list[Any]]:
    """What each of the processes has found, by layer."""
    by_process = run_processes(len(ends) - 1, train_part, specs, shape, dtype, ends)
    return dict(zip(specs, zip(*by_process, strict=True), strict=True))  # type: ignore[arg-type]


def check_close(found: list[Tensor], expected: list[Tensor], tolerance: float) -> None:
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


def check_layers(shape: tuple[int, ...], dtype: torch.dtype, ends: list[int], tolerance: float) -> None:
    for spec, parts in parts_of(EXACT, shape, dtype, ends).items():
        whole, found = train_twice(make_layer(spec, dtype), *make_batch(shape, dtype)), joined(parts)
        for name in ("rows", "gradients", "buffers"):
            check_close(found[name], whole[name], tolerance)
        for part in parts[1:]:
            assert all(map(torch.equal, part["buffers"], parts[0]["buffers"])), spec
        if not spec.startswith(("mediannorm", "augnorm:phi=1,")):  # whose passes are those of a selection
            assert parts[0]["besides passes"] <= 2, spec


def test_two_processes_equal_one_and_communicate_twice_besides_the_passes() -> None:
    check_layers(IMAGES, torch.float64, EVEN, 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "ends"), [(ROWS, UNEVEN), (IMAGES, ONE_EMPTY)])
def test_three_processes_with_parts_of_different_size_equal_one(shape: tuple[int, ...], ends: list[int]) -> None:
    check_layers(shape, torch.float64, ends, 1e-10)


@pytest.mark.slow
def test_in_float32_they_differ_in_the_last_digits_alone() -> None:
    specs = [spec for spec in EXACT if "phi=1.2" not in spec]  # a search for a low phi ends a few digits earlier
    for spec, parts in parts_of(specs, IMAGES, torch.float32, EVEN).items():
        whole = train_twice(make_layer(spec, torch.float32), *make_batch(IMAGES, torch.float32))
        found = joined(parts)
        check_close(found["rows"], whole["rows"], 2e-6)
        check_close(found["buffers"], whole["buffers"], 2e-6)


@pytest.mark.parametrize(("shape", "ends"), [(IMAGES, EVEN), (ROWS, [0, 3, 13])])
def test_batchnorm_over_processes_equals_the_sync_batch_norm_of_torch(shape: tuple[int, ...], ends: list[int]) -> None:
    for ours, torchs in run_processes(2, train_both, shape, torch.float64, ends):
        for name in ("rows", "gradients", "buffers"):
            check_close(ours[name], torchs[name], 1e-10)


def test_a_search_to_a_tolerance_ends_within_it_and_tells_what_it_is_certain_of() -> None:
    for spec, parts in parts_of(TO_TOLERANCE, IMAGES, torch.float64, EVEN).items():
        assert parts[0]["besides passes"] <= 2
        layer, (x, _) = make_layer(spec, torch.float64), make_batch(IMAGES, torch.float64)
        phi = layer.phi if spec == "diffphi" else float(spec.partition("=")[2])
        mu = parts[0]["buffers"][0]  # 0.1 of the second batch's median and 0.09 of the first's
        exact = [generalized_median(batch, phi, (0, 2, 3)) for batch in (x, x * 1.1 + 0.1)]  # type: ignore[arg-type]
        expected = 0.09 * exact[0] + 0.1 * exact[1]
        error = (x.std((0, 2, 3), correction=0) / (x.numel() // 5) ** 0.5) * 0.02
        assert ((mu - expected).abs() <= 0.09 * error + 0.1 * error * 1.1 + 1e-9).all(), spec


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_floating_point_numbers_become_integers_of_the_same_order_and_back(dtype: torch.dtype) -> None:
    values = torch.tensor([-torch.inf, -1e30, -2.0, -1e-40, -0.0, 0.0, 1e-40, 0.5, 2.0, 1e30, torch.inf], dtype=dtype)
    bits = values.view(torch.int32 if dtype == torch.float32 else torch.int64)
    assert (ordered_integers(bits).diff() > 0).all()
    assert torch.equal(ordered_integers(ordered_integers(bits)), bits)


class Alone(Processes):
    """The collectives of one process."""

    def add(self, values: Tensor) -> Tensor:
        return values.detach().clone()


@pytest.mark.parametrize("settings", [{}, {"momentum": None}, {"track_running_stats": False}])
def test_batchnorm_over_processes_takes_the_settings_of_torchs(settings: dict[str, Any]) -> None:
    theirs = nn.BatchNorm2d(3, **settings)
    convert(model := nn.Sequential(copy.deepcopy(theirs)), "batchnorm")
    (ours,) = model
    assert isinstance(ours, BatchNorm)
    ours.processes = Alone()
    for _ in range(3):
        x = torch.randn(4, 3, 2, 2)
        torch.testing.assert_close(ours(x), theirs(x))
    torch.testing.assert_close(ours.state_dict(), theirs.state_dict())
