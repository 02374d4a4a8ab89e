"""normbench nightly accept and mute: what is chosen by names and patterns, recorded and listed."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import pytest

from normbench_cli.nightly.series import Finding, Measurement, Status
from normbench_cli.nightly.verdict import Judged, Verdict
from normbench_cli.nightly.verdict_json import verdict_json
from normbench_cli.store import Store
from normbench_cli.store.nights import begin_night, end_night, record_cell
from tests.support import RunCommand

DAY = date(2026, 11, 19)
SINCE = DAY - timedelta(3)
WHY = ["--reason", "meant"]
FINDINGS: dict[tuple[str, str], Status] = {
    ("mlp/popnorm", "time_vs_calibration"): "regression",
    ("mlp/popnorm", "test/accuracy"): "fine",
    ("layers/popnorm", "time_vs_batchnorm@8x4"): "regression",
    ("layers/diffphi", "time_vs_batchnorm@8x4"): "fine",
}


@pytest.fixture(autouse=True)
def night(home: Path) -> None:
    """A night of canary with two regressions, one of which began three days before."""
    with Store.open() as store:
        night_id = begin_night(store, "canary", DAY, "abc", {"host": "here"})
        judged = []
        for (cell, metric), status in FINDINGS.items():
            record_cell(store, night_id, cell, {metric: 1.2}, environment_class="aa")
            since = SINCE if cell == "mlp/popnorm" and status == "regression" else None
            finding = Finding(Measurement(cell, metric, "time"), status, 1.2, change=0.2, since=since)
            judged.append(Judged(finding))
        verdict = Verdict("canary", night_id, DAY, tuple(judged))
        end_night(store, night_id, "finished", verdict=verdict_json(verdict))


def accepted(normbench: RunCommand, *words: str) -> dict[str, tuple[str, str]]:
    """Measurement -> the first day that counts, and what the last night found."""
    ended = normbench("nightly", "accept", *words, *WHY, "--json")
    assert ended.code == 0, ended.err
    return {one["measurement"]: (one["until"], one["status"]) for one in json.loads(ended.out)["accepted"]}


def test_all_that_regressed_is_accepted_from_where_its_level_began(normbench: RunCommand) -> None:
    assert accepted(normbench, "--all") == {
        "mlp/popnorm time_vs_calibration": (SINCE.isoformat(), "regression"),
        "layers/popnorm time_vs_batchnorm@8x4": (DAY.isoformat(), "regression"),
    }


def test_a_measurement_that_did_not_regress_can_be_accepted(normbench: RunCommand) -> None:
    ended = normbench("nightly", "accept", "mlp/popnorm test/accuracy", *WHY)
    assert ended.code == 0
    assert "fine" in ended.out
    assert DAY.isoformat() in ended.out


def test_a_pattern_chooses_several_and_says_which(normbench: RunCommand) -> None:
    assert set(accepted(normbench, "layers/*")) == {name for name in names() if name.startswith("layers/")}
    assert set(accepted(normbench, "*popnorm*", "mlp/popnorm test/accuracy", "--since", "2026-11-01")) == {
        name for name in names() if "popnorm" in name
    }


def names() -> list[str]:
    return [f"{cell} {metric}" for cell, metric in FINDINGS]


def test_a_mute_ends_on_its_day_or_by_hand(normbench: RunCommand) -> None:
    name = "mlp/popnorm test/accuracy"
    until = date.today() + timedelta(14)
    assert normbench("nightly", "mute", name, "--until", "14d", *WHY).out == f"{name}: muted until {until}\n"
    listed = json.loads(normbench("nightly", "mute", "--list", "--json").out)["decisions"]
    assert [(one["measurement"], one["until"], one["reason"]) for one in listed] == [(name, until.isoformat(), "meant")]
    assert "meant" in normbench("nightly", "mute", "--list").out
    assert normbench("nightly", "mute", name, "--until", "today", *WHY).out == f"{name}: counts again\n"
    assert normbench("nightly", "mute", "--list").err == "nothing is muted\n"


def test_a_date_is_taken_as_it_is_written(normbench: RunCommand) -> None:
    assert "muted until 2099-12-01" in normbench("nightly", "mute", "layers/*", "--until", "2099-12-01", *WHY).out


def test_accepted_baselines_are_listed(normbench: RunCommand) -> None:
    assert normbench("nightly", "accept", "--list").err == "no baseline is accepted\n"
    accepted(normbench, "--all")
    out = normbench("nightly", "accept", "--list").out
    assert SINCE.isoformat() in out
    assert "meant" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["accept", "mlp/popnrm test/acuracy", *WHY], "did you mean 'mlp/popnorm test/accuracy'?"),
        (["accept", "zzz*", *WHY], "there is no measurement 'zzz*'; there are 'layers/diffphi time"),
        (["accept", *WHY], "name measurements, or give --all"),
        (["accept", "--all", "layers/*", *WHY], "measurements are named and --all is given; drop one of them"),
        (["accept", "--all"], "a decision needs a reason; say why with --reason TEXT"),
        (["accept", "--all", "--reason", " "], "a decision needs a reason"),
        (["accept", "--all", *WHY, "--since", "14d"], "--since 14d is not a day; write 2026-12-01"),
        (["accept", "--all", *WHY, "--since", "2026-11-20"], "is after the last night"),
        (["mute", "layers/*", *WHY], "name measurements, and a day with --until"),
        (["mute", "layers/*", *WHY, "--until", "2020-01-01"], "--until 2020-01-01 is over"),
        (["mute", "layers/*", *WHY, "--until", "2026-02-30"], "is not a day"),
        (["mute", "layers/*", *WHY, "--until", "9999d"], "at most 3650d"),
        (["mute", "layers/*", "--until", "14d"], "a decision needs a reason"),
    ],
)
def test_wrong_words_are_one_line_and_decide_nothing(normbench: RunCommand, words: list[str], message: str) -> None:
    ended = normbench("nightly", *words)
    assert ended.code == 2
    assert message in ended.err
    assert len(ended.err.splitlines()) == 1
    assert recorded() == 0


def recorded() -> int:
    from normbench_cli.nightly.decisions import decisions

    with Store.open() as store:
        return len(decisions(store, "canary"))


def test_a_suite_without_nights_names_those_that_have_some(normbench: RunCommand) -> None:
    ended = normbench("nightly", "accept", "--all", *WHY, "--suite", "mine.toml")
    assert ended.code == 1
    assert "no night of the suite 'mine' is recorded; nights are recorded of canary" in ended.err


@pytest.mark.parametrize("command", [["accept", "--all"], ["mute", "x", "--until", "1d"], ["mute", "--list"]])
def test_without_a_database_there_is_one_line_and_none_is_made(
    normbench: RunCommand, tmp_path: Path, command: list[str]
) -> None:
    ended = normbench("nightly", *command, *WHY, "--db", str(tmp_path / "none.db"))
    assert ended.code == 1
    assert "there is no database" in ended.err
    assert not (tmp_path / "none.db").exists()
