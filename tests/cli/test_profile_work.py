"""normbench profile on sweeps, steps of models and values of a run: tables, files, JSON, and options that clash."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import RunCommand, train

SHORT = ["--rounds", "5", "--budget", "0.01s", "--no-memory", "--norm", "augnorm", "-q"]
MLP = ["--model", "mlp:depth=2,size=8,width=8", "--data", "digits:size=8", "--batch-size", "16"]


@pytest.mark.slow
def test_a_sweep_has_a_row_for_each_value_and_norm_and_is_drawn(normbench: RunCommand, tmp_path: Path) -> None:
    words = ["--shape", "8x4x6x6", "--sweep", "batch-size=2/4", "--format", "md", "--out", "files"]
    ended = normbench("profile", *SHORT, *words)
    assert ended.code == 0, ended.err
    title, head, *rows = ended.out.splitlines()
    assert title == "layer Nx4x6x6 by batch-size, cpu"
    assert head.split()[:2] == ["batch-size", "norm"]
    assert "time / batchnorm" in head
    names = ["none", "batchnorm", "augnorm"]
    assert [row.split()[:2] for row in rows[:6]] == [[value, norm] for value in "24" for norm in names]
    written = {path.name for path in (tmp_path / "files").iterdir()}
    assert "sweep.md" in written
    for stem in ("sweep-ratio-layer-Nx4x6x6", "sweep-time-layer-Nx4x6x6"):
        assert {f"{stem}.{form}" for form in ("svg", "png", "csv")} <= written


@pytest.mark.slow
def test_the_steps_of_a_model_have_rates_and_the_norms_own_share(normbench: RunCommand) -> None:
    ended = normbench("profile", *SHORT, *MLP, "--only", "model", "--step", "train,eval")
    assert ended.code == 0, ended.err
    assert "model mlp:depth=2,size=8,width=8, batch of 16, cpu" in ended.out
    assert "model mlp:depth=2,size=8,width=8, batch of 16, eval, cpu" in ended.out
    assert "samples/s" in ended.out
    assert "own share / none" in ended.out
    assert "Times: a training step; forward in evaluation mode." in ended.out


@pytest.mark.slow
def test_a_model_is_swept_by_its_width_as_json(normbench: RunCommand) -> None:
    ended = normbench("profile", *SHORT, *MLP, "--sweep", "width=8/16", "--json")
    assert ended.code == 0, ended.err
    rows = json.loads(ended.out)["results"]
    assert {(row["model"], row["at"], row["series"]) for row in rows} == {
        (f"mlp:depth=2,size=8,width={width}", width, "mlp:depth=2,size=8,width=8") for width in (8, 16)
    }


@pytest.mark.slow
def test_the_values_of_a_run_are_named_below_the_tables(normbench: RunCommand) -> None:
    (run,) = train(normbench, "--model", "mlp:depth=2,size=8,width=8", "--norm", "batchnorm")
    ended = normbench("profile", *SHORT, "--from-run", f"{run['id'][:4]}@2", "--layer", "hidden.1.1", "--start", "cold")
    assert ended.code == 0, ended.err
    assert f"64x8: the values of hidden.1.1 in run {run['id']}, batch 2." in ended.out
    assert "layer 64x8 cold, cpu" in ended.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--from-run", "1234", "--preset", "gcn"], "--from-run gives the shapes"),
        (["--from-run", "1234", "--sweep", "width=8/16"], "--from-run gives the shapes"),
        (["--from-run", "1234", "--only", "model"], "--only is model"),
        (
            ["--from-run", "1234", "--model", "mlp", "--batch-size", "8"],
            "--from-run already sets model and batch_size; drop these options",
        ),
        (["--layer", "norm"], "give --from-run RUN"),
        (["--format", "md"], "give --sweep"),
        (["--sweep", "batch-size=8/16", "--format", "mdd"], "--format mdd is not a format"),
        (["--sweep", "depth=8/16"], "there is no 'depth' to sweep"),
        (["--step", "test"], "--step test is not known"),
        (["--start", "hot"], "--start hot is not known"),
    ],
)
def test_options_that_clash_are_one_line(normbench: RunCommand, words: list[str], message: str) -> None:
    ended = normbench("profile", *words)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert len(ended.err.splitlines()) == 1
