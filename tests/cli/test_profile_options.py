"""`profile --solver`, `--trace` and `--compare` on the command line: files, JSON, errors in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support import RunCommand, train

LAYER = ["--norm", "none", "--shape", "8x4", "--rounds", "5", "--budget", "0.01s", "--no-memory"]


@pytest.mark.slow
def test_the_solver_has_tables_plots_and_rows(normbench: RunCommand, tmp_path: Path) -> None:
    words = ["profile", "--solver", "--phi", "1.2", "--shape", "64x2", "--rounds", "5", "--budget", "0.01s"]
    ended = normbench(*words, "--out", "solver", "--format", "md")
    assert ended.code == 0, ended.err
    assert ended.out.startswith("phi = 1.2: error in sd after so many passes\n")
    assert "mostly-zeros, phi 1.2, safe: error " in ended.err
    assert {"solver.md", "convergence-phi1.2.png"} <= {path.name for path in (tmp_path / "solver").iterdir()}
    (recorded,) = train(normbench, "--model", "mlp", "--norm", "popnorm")
    found = normbench(*words, "--from-run", recorded["id"], "--json")
    assert "drop --shape" in found.err
    found = normbench(*words[:4], "--budget", "0.01s", "--from-run", recorded["id"], "--json")
    assert found.code == 0, found.err
    rows = json.loads(found.out)["results"]
    assert {row["data"].split()[1] for row in rows} == {f"from-{recorded['id']}-1"}
    drawn = normbench("report", "--kind", "profile", "--plot", "convergence")
    assert drawn.code == 0, drawn.err
    assert "convergence-phi1.2.svg" in drawn.err


@pytest.mark.slow
def test_an_earlier_profile_and_a_trace_beside_a_profile(normbench: RunCommand, tmp_path: Path) -> None:
    assert normbench("profile", *LAYER).code == 0
    report = json.loads(normbench("report", "--kind", "profile", "--json").out)
    earlier = report["rows"][0]["run"]
    ended = normbench("profile", *LAYER, "--compare", earlier, "--trace", "trace.json", "--json")
    assert ended.code == 0, ended.err
    comparison = json.loads(ended.out)["comparison"]
    assert earlier in comparison["then"]["runs"].values()
    assert {(row["norm"], row["at"]) for row in comparison["rows"]} == {("none", "8x4"), ("batchnorm", "8x4")}
    assert "batchnorm backward" in (tmp_path / "trace.json").read_text()
    shown = normbench("profile", *LAYER, "--compare", earlier)
    assert "Machine, versions, threads and settings are the same." in shown.out
    assert "now / then" in shown.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--solver", "--preset", "gcn"], "--preset has no meaning"),
        (["--solver", "--dtype", "float64"], "--dtype has no meaning"),
        (["--solver", "--memory-format", "channels_last"], "--memory-format has no meaning"),
        (["--solver", "--call", "eager"], "--call has no meaning"),
        (["--solver", "--pass", "eval"], "--pass has no meaning"),
        (["--solver", "--step", "eval"], "--step has no meaning"),
        (["--solver", "--start", "cold"], "--start has no meaning"),
        (["--solver", "--precision", "2%"], "--precision has no meaning"),
        (["--solver", "--no-memory"], "--no-memory has no meaning"),
        (["--solver", "--shape", "8x4x4x4"], "is not values x channels"),
        (["--solver", "--shape", "8x4", "--shape", "8x2"], "takes one --shape"),
        (["--solver", "--phi", "x"], "--phi x is not a list of numbers"),
        (["--solver", "--phi", "1"], "need no search"),
        (["--phi", "1.5"], "add --solver"),
        (["--sweep", "size=8/16", "--compare", "x"], "omit --compare"),
        (["--trace", "."], "is a folder"),
        (["--compare", "ffffffff"], "ffffffff"),
    ],
)
def test_wrong_options_are_one_line_before_anything_is_measured(
    normbench: RunCommand, words: list[str], message: str
) -> None:
    ended = normbench("profile", *words)
    assert ended.code in (1, 2)
    assert ended.out == ""
    assert message in ended.err
    assert len(ended.err.splitlines()) == 1
