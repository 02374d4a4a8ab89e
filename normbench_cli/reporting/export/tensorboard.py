"""Event files for TensorBoard: ``tensorboard --logdir FOLDER``.  One folder per run, named by its id.

Scalars by epoch and by step; settings, final metrics and status in the HPARAMS tab.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams import api_pb2, metadata
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionEndInfo
from tensorboard.plugins.hparams.summary_v2 import HParam, Metric, hparams_config_pb, hparams_pb
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from normbench_cli.reporting.export.recorded import RecordedRun, Value

STATUSES = {"finished": api_pb2.STATUS_SUCCESS, "running": api_pb2.STATUS_RUNNING}  # any other one is a failure


def write_runs(runs: Iterable[RecordedRun], folder: Path) -> None:
    for run in runs:
        write_run(run, folder / run.id)


def write_run(run: RecordedRun, folder: Path) -> None:
    for earlier in folder.glob("events.out.tfevents.*"):
        earlier.unlink()
    writer = EventFileWriter(str(folder))
    columns = hparams_config_pb([HParam(name) for name in run.settings], [Metric(name) for name in run.final])
    for described in (columns, hparams_pb(run.settings, trial_id=run.name, start_time_secs=run.started)):
        writer.add_event(Event(wall_time=run.started, summary=described))
    for value in (*run.by_epoch, *run.once(), *run.by_step()):
        writer.add_event(Event(wall_time=value.time, step=value.at, summary=scalar(value)))
    writer.add_event(Event(wall_time=run.ended, summary=session_end(run)))
    writer.close()


def scalar(value: Value) -> Summary:
    return Summary(value=[Summary.Value(tag=value.name, simple_value=value.value)])


def session_end(run: RecordedRun) -> Summary:
    """The status, as the HPARAMS tab reads it.  The library creates this message only if TensorFlow is installed."""
    ended = SessionEndInfo(status=STATUSES.get(run.status, api_pb2.STATUS_FAILURE), end_time_secs=run.ended)
    described = metadata.create_summary_metadata(HParamsPluginData(session_end_info=ended))
    tag = metadata.SESSION_END_INFO_TAG
    return Summary(value=[Summary.Value(tag=tag, metadata=described, tensor=metadata.NULL_TENSOR)])
