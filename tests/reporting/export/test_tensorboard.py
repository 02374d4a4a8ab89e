"""Event files, read back by TensorBoard."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.reporting.export import export_runs
from tests.reporting.export.conftest import ODD

pytest.importorskip("tensorboard", reason='needs pip install "normbench[tensorboard]"')


def read(folder: Path) -> Any:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    return EventAccumulator(str(folder)).Reload()


def points(events: Any, tag: str) -> list[tuple[int, float]]:
    return [(event.step, event.value) for event in events.Scalars(tag)]


def test_curves_series_and_final_metrics(run_id: str, tmp_path: Path) -> None:
    assert export_runs([run_id], "tensorboard", tmp_path / "tb") == 1
    events = read(tmp_path / "tb" / run_id)
    assert set(events.Tags()["scalars"]) == {"test/accuracy", "train/loss", "steps/train/loss", ODD}
    assert points(events, "test/accuracy") == [(1, 0.25), (2, 0.5), (3, 0.75)]
    assert points(events, "steps/train/loss") == [(1, 10), (2, 11), (3, 20), (4, 21), (5, 30), (6, 31)]
    assert points(events, ODD) == [(3, 0.25)]
    assert [step for step, value in points(events, "train/loss") if math.isnan(value)] == [3]


def test_settings_and_status_are_hyperparameters(run_id: str, tmp_path: Path) -> None:
    from tensorboard.plugins.hparams import api_pb2, metadata

    export_runs([run_id], "tensorboard", tmp_path)
    content = read(tmp_path / run_id).summary_metadata
    start = metadata.parse_session_start_info_plugin_data(content[metadata.SESSION_START_INFO_TAG].plugin_data.content)
    assert start.hparams["norm"].string_value == "popnorm:kappa=4"
    assert start.hparams["lr"].number_value == 0.1
    assert start.hparams["compile"].bool_value is False
    end = metadata.parse_session_end_info_plugin_data(content[metadata.SESSION_END_INFO_TAG].plugin_data.content)
    assert end.status == api_pb2.STATUS_FAILURE
    columns = metadata.parse_experiment_plugin_data(content[metadata.EXPERIMENT_TAG].plugin_data.content)
    assert ODD in {metric.name.tag for metric in columns.metric_infos}


def test_a_run_exported_again_replaces_the_first(run_id: str, tmp_path: Path) -> None:
    for _ in range(2):
        export_runs([run_id], "tensorboard", tmp_path)
    assert len(points(read(tmp_path / run_id), "test/accuracy")) == 3
