"""report --to: which tools there are, and what a missing one says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from normbench_cli.reporting import export
from normbench_cli.reporting.export.recorded import read_runs
from normbench_cli.store import Store
from tests.support import RunCommand


@pytest.mark.parametrize("tool", export.TOOLS)
def test_a_missing_extra_says_how_to_install_it(
    normbench: RunCommand, run_id: str, monkeypatch: pytest.MonkeyPatch, tool: str, tmp_path: Path
) -> None:
    monkeypatch.setattr(export, "find_spec", lambda name: None if name == tool else importlib.util.find_spec(name))
    ended = normbench("report", "--to", tool, "there")
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert f'pip install "normbench[{tool}]"' in ended.err
    assert not (tmp_path / "there").exists()


def test_an_unknown_tool_is_a_usage_error(normbench: RunCommand, run_id: str) -> None:
    ended = normbench("report", "--to", "tensorbord", "there")
    assert ended.code == 2
    assert "did you mean 'tensorboard'" in ended.err


def test_report_writes_for_a_tool(normbench: RunCommand, run_id: str, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason='needs pip install "normbench[tensorboard]"')
    ended = normbench("report", "--json", "--to", "tensorboard", "there")
    assert ended.code == 0, ended.err
    assert ended.err == "written for tensorboard: 1 run in there\n"
    assert [path.name for path in (tmp_path / "there").iterdir()] == [run_id]


def test_a_run_is_read_with_settings_that_every_tool_takes(run_id: str) -> None:
    with Store.open() as store:
        (run,) = read_runs(store, [run_id])
    assert (run.status, run.command) == ("diverged", "normbench train --seed 3")
    assert {type(value) for value in run.settings.values()} <= {bool, int, float, str}
    assert run.environment == {"versions.torch": "2.13"}
    assert run.name == f"popnorm:kappa=4 relu seed 3 {run_id}"
    times = [value.time for value in run.by_step()]
    assert times == sorted(times)
    assert run.started <= times[0]
    assert times[-1] <= run.ended
