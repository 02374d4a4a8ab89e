"""The reference of solvers: known medians, and guesses of any quality."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from normbench_cli.measure.data_families import FAMILIES, data_families
from normbench_cli.measure.exact_median import error_in_sd, exact_median

columns = st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=9)


@settings(max_examples=50, deadline=None)
@given(values=columns, phi=st.sampled_from([1.05, 1.2, 1.5, 3.0, 16.0]), off=st.sampled_from([0.0, 1e-12, 0.1, -5.0]))
def test_no_other_value_has_a_smaller_sum_whatever_the_guess(values: list[float], phi: float, off: float) -> None:
    x = torch.tensor(values, dtype=torch.float64)[:, None]
    sd = float(x.std(0, correction=0))
    mu = exact_median(x, phi, exact_median(x, phi) + off * sd)
    size = max(sd, 1e-9)
    least = ((x - mu).abs() / size).pow(phi).sum()
    for other in (mu - 1e-3 * size, mu + 1e-3 * size):
        assert least <= ((x - other).abs() / size).pow(phi).sum() + 1e-9 * least


def test_the_mean_and_two_points_are_known() -> None:
    x = torch.tensor([[0.0, 0.0], [3.0, 1.0], [9.0, 0.0]], dtype=torch.float64)
    assert exact_median(x, 2.0).tolist() == pytest.approx([4.0, 1 / 3], abs=1e-12)
    assert float(exact_median(torch.tensor([[0.0], [1.0]]), 1.2)) == pytest.approx(0.5, abs=1e-12)


def test_errors_are_in_standard_deviations_and_of_a_constant_column_in_the_spacing_of_its_numbers() -> None:
    x = torch.tensor([[1.0, 8.0], [3.0, 8.0]])
    exact = torch.tensor([2.0, 8.0], dtype=torch.float64)
    spacing = 8 * torch.finfo(torch.float32).eps
    assert error_in_sd(torch.tensor([2.5, 8.0 + 2 * spacing]), exact, x).tolist() == pytest.approx([0.5, 2.0])


def test_families_are_the_same_each_time_and_what_their_names_say() -> None:
    families = data_families(512, 3)
    assert list(families) == list(FAMILIES)
    again = data_families(512, 3)
    assert all(torch.equal(families[name], again[name]) for name in families)
    assert (families["mostly-zeros"] == 0).float().mean() > 0.9
    assert families["eight-values"].shape == (8, 3)
    assert set(families["binary"].unique().tolist()) == {0.0, 1.0}
    assert (families["constant"] == families["constant"][0]).all()
    assert families["constant"][0].unique().numel() == 3
