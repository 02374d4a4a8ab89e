"""What a metric is to the gate."""

from __future__ import annotations

import pytest

from normbench_cli.nightly.measurements import KINDS, SECONDS, measurement


@pytest.mark.parametrize("metric", KINDS)
def test_every_metric_that_nights_judge_has_a_kind_and_a_direction(metric: str) -> None:
    found = measurement("mlp", metric)
    assert found is not None
    assert found.name == f"mlp {metric}"
    assert found.higher_is_better == metric.endswith("accuracy")
    assert not found.exact


@pytest.mark.parametrize(
    ("metric", "exact"),
    [
        ("train/loss", True),
        ("test/accuracy", True),
        ("saved_activation_bytes@8x8", True),
        ("solver/iterations_mean", True),
        ("solver/iterations_mean@8x8", False),
        ("peak_memory_bytes", False),
        ("time_vs_batchnorm@8x8", False),
    ],
)
def test_times_and_resident_memory_are_never_exact(metric: str, exact: bool) -> None:
    found = measurement("mlp", metric, deterministic=True)
    assert found is not None
    assert found.exact is exact


def test_what_measuring_took_is_not_judged() -> None:
    assert measurement("mlp", SECONDS) is None
