"""A spool file keeps every value to the last bit, and shows which of its lines are whole."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from normbench_cli.store._spool.spool import read_spool
from normbench_cli.store._spool.spool_file import Owner, SpoolFile, content_of, line_of
from normbench_cli.store._spool.writes import Write, measured, summary, write_from_json
from normbench_cli.store.errors import DamagedValue
from normbench_cli.store.rows import Measurements

OWNER = Owner("/lab/results.db", "d322c4f1", "here", 12, 1.5)
VALUES = st.floats(allow_nan=False, width=64)
RECORDS = st.builds(
    Measurements,
    st.dictionaries(st.sampled_from(["train/loss", "test/accuracy@bim:eps=0.1", "lr"]), VALUES, max_size=3),
    st.none() | st.integers(1, 2**31),
    st.none() | st.integers(0, 2**31),
    st.dictionaries(st.sampled_from(["step_time_ms", "a\nb"]), st.lists(VALUES.filter(lambda x: abs(x) < 1e30))),
)
WRITES = st.lists(RECORDS, max_size=3).map(lambda records: measured(OWNER.run, records)) | st.builds(
    Write,
    st.just(OWNER.run),
    details=st.dictionaries(st.text(), st.text() | st.integers() | st.none()),
    remark=st.text(),
    status=st.sampled_from(["", "finished", "failed"]),
    message=st.text(),
)


def three_writes() -> list[Write]:
    return [measured(OWNER.run, [Measurements({"a": 1 / 3, "b": math.inf}, epoch, epoch)]) for epoch in (1, 2, 3)]


@settings(max_examples=50)
@given(WRITES)
def test_a_write_is_the_same_after_a_line(write: Write) -> None:
    line = line_of(write.to_json())
    assert line.count(b"\n") == 1
    content = content_of(line[:-1])
    assert content is not None
    assert write_from_json(OWNER.run, content) == write


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(at=st.floats(0, 1, exclude_max=True))
def test_of_a_file_that_was_cut_off_the_whole_lines_are_read(tmp_path: Path, at: float) -> None:
    path = SpoolFile(tmp_path, OWNER, three_writes()).path
    content = path.read_bytes()
    cut = content[: int(at * len(content))]
    path.write_bytes(cut)
    spool = read_spool(path)
    path.unlink()
    whole = max(0, cut.count(b"\n") - 1)
    if b"\n" in cut:
        assert spool is not None
        assert (list(spool.writes), spool.damaged) == (three_writes_at(content)[:whole], 0)


def three_writes_at(content: bytes) -> list[Write]:
    lines = [content_of(line) for line in content.splitlines()]
    return [write_from_json(OWNER.run, line) for line in lines[1:] if line is not None]


@pytest.mark.parametrize("line", [1, 2, 3])
def test_a_flipped_bit_costs_one_line(tmp_path: Path, line: int) -> None:
    path = SpoolFile(tmp_path, OWNER, three_writes()).path
    lines = path.read_bytes().splitlines(keepends=True)
    middle = len(lines[line]) // 2
    lines[line] = lines[line][:middle] + bytes([lines[line][middle] ^ 1]) + lines[line][middle + 1 :]
    path.write_bytes(b"".join(lines))
    spool = read_spool(path)
    assert spool is not None
    assert (len(spool.writes), spool.damaged) == (2, 1)


def test_what_is_appended_is_read_behind_what_was_there(tmp_path: Path) -> None:
    first, *rest = three_writes()
    file = SpoolFile(tmp_path, OWNER, [first])
    file.append(rest)
    spool = read_spool(file.path)
    assert spool is not None
    assert (spool.owner, list(spool.writes)) == (OWNER, [first, *rest])


def test_a_file_that_has_gone_is_not_made_again(tmp_path: Path) -> None:
    file = SpoolFile(tmp_path, OWNER, three_writes())
    file.path.unlink()
    with pytest.raises(OSError, match="No such file"):
        file.append(three_writes())
    file.path.write_bytes(b"another's")
    with pytest.raises(OSError, match="is not what was written to it"):
        file.append(three_writes())


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"at": "noon"},
        {"at": "2026-01-31T12:00:00"},
        {"at": "2026-01-31T12:00:00+00:00", "status": "done"},
        {"at": "2026-01-31T12:00:00+00:00", "details": ["a"]},
        {"at": "2026-01-31T12:00:00+00:00", "metrics": [{"value": 1.0}]},
        {"at": "2026-01-31T12:00:00+00:00", "metrics": [7]},
        {"at": "2026-01-31T12:00:00+00:00", "samples": {"a": 1}},
    ],
)
def test_what_no_run_writes_is_damage(content: dict[str, object]) -> None:
    with pytest.raises(DamagedValue):
        write_from_json(OWNER.run, content)


def test_a_value_that_its_column_cannot_hold_is_damage() -> None:
    (row,) = measured(OWNER.run, [Measurements({"a": 1.0}, 1, 1)]).to_json()["metrics"]
    good = {"at": datetime.now(UTC).isoformat(), "metrics": [row]}
    assert write_from_json(OWNER.run, good).metrics[0]["value"] == 1.0
    for name, value in (("value", "much"), ("step", 1.5), ("unit", None), ("recorded_at", "1066-10-14T00:00:00")):
        with pytest.raises(DamagedValue):
            write_from_json(OWNER.run, {**good, "metrics": [{**row, name: value}]})


def test_a_summary_names_all_that_there_is() -> None:
    writes = [*three_writes(), Write(OWNER.run, remark="odd"), Write(OWNER.run, status="failed")]
    assert summary(writes) == "6 values of epochs 1-3, the remark 'odd' and the status failed"
    assert summary(three_writes()[:1]) == "2 values of epoch 1"
    assert summary([measured(OWNER.run, [Measurements({"a": 1.0})])]) == "1 value"
    assert summary([]) == "heartbeats"
