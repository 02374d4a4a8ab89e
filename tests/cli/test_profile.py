"""normbench profile: every norm against both references, as JSON and as tables; wrong options are one line."""

from __future__ import annotations

import json

import pytest

from normbench_cli.cli._profile import notes
from normbench_cli.cli.profile import exit_code, parse_fraction, parse_shape
from normbench_cli.errors import UsageError
from normbench_cli.store import Store
from tests.support import RunCommand

SHORT = ["--rounds", "5", "--budget", "0.01s", "--no-memory"]
TINY = ["--model", "mlp:width=8", "--data", "digits:size=8", "--batch-size", "16", *SHORT, "--shape", "8x4x6x6"]


def test_profile_compares_every_norm_with_both_references(normbench: RunCommand) -> None:
    ended = normbench("profile", "--norm", "popnorm", "--only", "both", *TINY, "--json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    keys = {"contender", "reference", "dtype", "device", "metric", "median", "iqr", "p95", "n", "ratio"}
    for result in document["results"]:
        assert keys <= set(result)
        assert ("shape" in result) != ("model" in result)
    seen = {(r["contender"], r["reference"], "model" in r, r["metric"]) for r in document["results"]}
    assert len(seen) == len(document["results"]) == 3 * 2 * (2 + 3)  # a model also has samples/s
    own = [r for r in document["results"] if r["contender"] == r["reference"] and r["metric"] == "step_time_ms"]
    assert all(r["ratio"] == 1 for r in own)


def test_the_tables_of_layers(normbench: RunCommand) -> None:
    ended = normbench("profile", "--norm", "augnorm", *TINY)
    assert ended.code == 0, ended.err
    title, head, *rows = ended.out.splitlines()
    assert title == "layer 8x4x6x6, cpu"
    assert "time / batchnorm" in head
    assert [row.split()[0] for row in rows[:3]] == ["none", "batchnorm", "augnorm"]
    assert "95 % bootstrap interval" in ended.out


def test_a_shape_and_a_fraction_are_read() -> None:
    assert parse_shape("8x4X6x6") == (8, 4, 6, 6)
    assert parse_fraction("2%") == parse_fraction("0.02") == 0.02


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


def test_what_is_measured_is_shown_on_stderr_as_it_comes(normbench: RunCommand) -> None:
    words = ["profile", "--norm", "torch.nn:BatchNorm2d", *TINY, "--pass", "forward,eval"]
    lines = normbench(*words).err.splitlines()
    assert [line.rpartition(": ")[0].split()[1:] for line in lines if ": 0" in line or " ms" in line] == [
        ["8x4x6x6", *timed, norm]
        for timed in (["forward"], ["eval"])
        for norm in ("none", "batchnorm", "torch.nn:BatchNorm2d")
    ]
    assert normbench(*words, "-q").err == ""


def test_a_preset_has_totals(normbench: RunCommand) -> None:
    ended = normbench("profile", "--norm", "none", "--preset", "resnet18-cifar", "--batch-size", "2", *SHORT)
    assert ended.code == 0, ended.err
    assert "layer 2x512x4x4, cpu" in ended.out
    assert "20 calls with 4 shapes" in ended.out
    assert "geometric mean / batchnorm" in ended.out
    assert "% of limit" in ended.out


def test_shapes_of_a_model_in_other_types_as_json(normbench: RunCommand) -> None:
    words = ["--shapes-of", "mlp", "--data", "digits:size=8", "--batch-size", "4", "--dtype", "float64,bfloat16"]
    ended = normbench("profile", "--norm", "none", *words, *SHORT, "--json")
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    assert {(row["dtype"], row["count"]) for row in document["results"]} >= {("float64", 3), ("bfloat16", 3)}
    assert {row["status"] for row in document["results"]} == {"ok"}


def test_a_norm_that_does_not_fit_is_incomplete_and_says_why(normbench: RunCommand) -> None:
    ended = normbench("profile", "--norm", "graphnorm", *TINY)
    assert ended.code == 5
    assert "graphnorm: failed (ValueError: expected (nodes, 4)" in ended.err
    assert "graphnorm failed: ValueError: expected (nodes, 4)" in ended.out


def test_what_could_not_be_recorded_is_one_line_after_the_tables(
    normbench: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "lost", lambda self, run_id: "3 metrics are lost")
    ended = normbench("profile", "--norm", "none", *TINY, "--json", "-q")
    assert ended.code == 1
    assert {row["status"] for row in json.loads(ended.out)["results"]} == {"ok"}
    lost = "3 metrics are lost; 3 metrics are lost"  # those of `none` and of `batchnorm`
    assert ended.err == f"normbench: {lost}; keep what was printed, or profile again\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--shape", "8x4", "--preset", "gcn"], "give one of them"),
        (["--preset", "gnc"], "did you mean 'gcn'"),
        (["--preset", "gcn", "--batch-size", "0"], "batch_size is 0"),
        (["--dtype", "float8"], "--dtype float8 is not known"),
        (["--budget", "2"], "--budget 2 is not a time"),
        (["--shapes-of", "resnet18@3x"], "is not the size of an image"),
    ],
)
def test_wrong_options_are_one_line(normbench: RunCommand, words: list[str], message: str) -> None:
    ended = normbench("profile", *words)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


def test_exit_codes_and_notes() -> None:
    fine = {
        "contender": "a",
        "metric": "step_time_ms",
        "status": "ok",
        "noisy": False,
        "message": "",
        "stopped": "budget",
    }
    oom = fine | {"contender": "b", "status": "oom"}
    assert exit_code([fine]) == 0
    assert exit_code([fine, oom]) == 5
    assert exit_code([fine, fine | {"metric": "peak_memory_bytes", "status": "oom"}]) == 5
    assert exit_code([oom]) == 4
    assert "--budget ended before every ratio was known to 2 %." in notes([fine], 0.02)
    assert "oom: there was not enough memory." in notes([oom], None)
