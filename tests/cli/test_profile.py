"""normbench profile: every norm against both references, as JSON and as tables; wrong options are one line."""

from __future__ import annotations

import json

import pytest

from normbench_cli.cli.profile import parse_fraction, parse_shape
from normbench_cli.errors import UsageError
from tests.support import RunCommand

TINY = ["--data", "digits:size=8", "--batch-size", "16", "--rounds", "5", "--shape", "8x4x6x6"]


def test_profile_compares_every_norm_with_both_references(normbench: RunCommand) -> None:
    ended = normbench("profile", "--norm", "popnorm", *TINY, "--json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    keys = {"contender", "reference", "dtype", "device", "metric", "median", "iqr", "p95", "n", "ratio"}
    for result in document["results"]:
        assert keys <= set(result)
        assert ("shape" in result) != ("model" in result)
    seen = {(r["contender"], r["reference"], "model" in r, r["metric"]) for r in document["results"]}
    assert len(seen) == len(document["results"]) == 3 * 2 * 2 * 2
    own = [r for r in document["results"] if r["contender"] == r["reference"] and r["metric"] == "step_time_ms"]
    assert all(r["ratio"] == 1 for r in own)


def test_the_tables_of_layers(normbench: RunCommand) -> None:
    ended = normbench("profile", "--norm", "augnorm", "--only", "layers", *TINY)
    assert ended.code == 0, ended.err
    title, head, *rows = ended.out.splitlines()
    assert title == "layer 8x4x6x6, cpu"
    assert "time / batchnorm" in head
    assert [row.split()[0] for row in rows[:3]] == ["none", "batchnorm", "augnorm"]
    assert "95 % bootstrap interval" in ended.out


def test_a_shape_and_a_fraction_are_read() -> None:
    assert parse_shape("8x4X6x6") == (8, 4, 6, 6)
    assert parse_fraction("2%") == parse_fraction("0.02") == 0.02
    assert parse_fraction(None) is None


@pytest.mark.parametrize("text", ["8", "8x0", "8xa", "1x2x3x4x5x6", ""])
def test_a_wrong_shape_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match="is not a shape"):
        parse_shape(text)


@pytest.mark.parametrize("text", ["0", "1", "200%", "nan", "x"])
def test_a_wrong_fraction_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match="is not a fraction"):
        parse_fraction(text)


def test_only_takes_three_words(normbench: RunCommand) -> None:
    ended = normbench("profile", "--only", "layer")
    assert (ended.code, ended.out) == (2, "")
    assert "give layers, model or both" in ended.err
