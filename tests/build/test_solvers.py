"""Solvers that are stopped after so many passes."""

from __future__ import annotations

import torch

from normbench_cli.build.solvers import median_after
from normbench_cli.measure.data_families import data_families
from normbench_cli.measure.exact_median import error_in_sd, exact_median
from normbench_cli.registry import NORMS


def test_newton_makes_all_passes_and_is_the_layer_that_makes_as_many() -> None:
    x = data_families(64, 3)["cauchy"]
    layer = NORMS.build("augnorm:phi=1.5,momentum=1,solver=newton:iterations=3", num_features=3)
    layer(x)
    found = median_after(x, 1.5, "newton", 3)
    torch.testing.assert_close(found.mu, layer.running_mean)
    assert found.passes.tolist() == [3, 3, 3]


def test_safe_makes_as_many_passes_as_it_needs_and_no_more_than_it_may() -> None:
    x = data_families(256, 4)["mostly-zeros"]
    exact = exact_median(x, 1.2)
    found = median_after(x, 1.2, "safe", 80)
    assert error_in_sd(found.mu, exact, x).max() <= 1e-5
    most = int(found.passes.max())
    assert most < 40
    torch.testing.assert_close(median_after(x, 1.2, "safe", most).mu, found.mu, rtol=0, atol=0)
    assert median_after(x, 1.2, "safe", 2).passes.tolist() == [2] * 4
    diverged = median_after(x, 1.2, "newton", 32)
    assert error_in_sd(diverged.mu, exact, x).max() > 1e4
