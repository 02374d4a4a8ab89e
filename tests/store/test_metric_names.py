"""Names of metrics are parsed and put together again; every name has its unit."""

from __future__ import annotations

import pytest

from normbench_cli.store.metric_names import SPLITS, SUFFIXES, UNITS, MetricName, parse_metric, unit_of


@pytest.mark.parametrize(
    ("full", "parts"),
    [
        *((f"{split}/accuracy", MetricName(split, "accuracy", "")) for split in SPLITS),
        ("test/accuracy@bim:eps=0.1", MetricName("test", "accuracy", "bim:eps=0.1")),
        ("test/accuracy@a@b", MetricName("test", "accuracy", "a@b")),
        ("train", MetricName("", "train", "")),
        ("weights/l2/0.conv1", MetricName("", "weights/l2/0.conv1", "")),
        ("step_time_ms@8x16/train", MetricName("", "step_time_ms", "8x16/train")),
    ],
)
def test_a_name_is_parsed_and_written_as_it_was(full: str, parts: MetricName) -> None:
    assert parse_metric(full) == parts
    assert str(parts) == full


@pytest.mark.parametrize("start", ["", "test/", "solver/"])
@pytest.mark.parametrize("end", ["", "@bim"])
@pytest.mark.parametrize(
    ("name", "unit"),
    [
        *UNITS.items(),
        *((f"some{suffix}", unit) for suffix, unit in SUFFIXES.items()),
        ("loss", ""),
        ("accuracy_of", ""),
    ],
)
def test_every_name_has_its_unit_in_any_split_and_condition(start: str, name: str, end: str, unit: str) -> None:
    assert unit_of(f"{start}{name}{end}") == unit


def test_scores_are_fractions_and_rates_are_not_times() -> None:
    fractions = {name for name, unit in UNITS.items() if unit == "fraction"}
    assert fractions >= {"accuracy", "worst_group_accuracy", "accuracy_drop", "unconverged", "corruption_error"}
    assert unit_of("samples_per_s") == "1/s"
