"""Converting a run's records to table rows: one per metric value, and one per packed chunk of a raw series."""

from __future__ import annotations

import array
import hashlib
import json
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from normbench_cli.store.errors import DamagedValue
from normbench_cli.store.metric_names import parse_metric, unit_of

Row = dict[str, Any]
MOST_VALUES = 2**24  # of a series: 64 MiB


class RecordLike(Protocol):
    """The interface of records, such as the engine's: metrics by full name, and raw series that end at `step`.

    An epoch of None means the whole run; a step of None, that the training step is irrelevant.
    """

    @property
    def metrics(self) -> Mapping[str, float]: ...
    @property
    def epoch(self) -> int | None: ...
    @property
    def step(self) -> int | None: ...
    @property
    def series(self) -> Mapping[str, Iterable[float]]: ...


@dataclass(frozen=True)
class Measurements:
    """A plain record."""

    metrics: Mapping[str, float]
    epoch: int | None = None
    step: int | None = None
    series: Mapping[str, Iterable[float]] = field(default_factory=dict)


def now() -> datetime:
    return datetime.now(UTC)


def metric_rows(run_id: str, metrics: Mapping[str, float], epoch: int | None, step: int | None) -> list[Row]:
    moment, rows = now(), []
    for full, value in metrics.items():
        name = parse_metric(full)
        rows.append(
            {
                "run_id": run_id,
                "epoch": epoch,
                "step": step,
                "split": name.split,
                "condition": name.condition,
                "name": name.name,
                "value": float(value),
                "unit": unit_of(full),
                "recorded_at": moment,
            }
        )
    return rows


def series_row(run_id: str, name: str, values: Iterable[float], epoch: int | None, step: int | None) -> Row:
    """A chunk of a raw series whose last value belongs to `step`; values are stored as float32."""
    count, data = pack(values)
    return {
        "run_id": run_id,
        "name": name,
        "epoch": epoch,
        "first_step": max(0, (step or 0) - count),
        "count": count,
        "data": data,
    }


def pack(values: Iterable[float]) -> tuple[int, bytes]:
    """Pack numbers; returns their count, and zlib-compressed little-endian float32 bytes."""
    floats = array.array("f", (float(value) for value in values))
    if sys.byteorder == "big":
        floats.byteswap()
    return len(floats), zlib.compress(floats.tobytes(), 6)


def unpack(data: bytes, count: int | None = None) -> array.array[float]:
    """The inverse of `pack`; raises if these are not `count` numbers.  Never unpacks more than MOST_VALUES."""
    unzip, most = zlib.decompressobj(), MOST_VALUES if count is None else count
    check_length(most)
    try:
        content = unzip.decompress(data, 4 * most + 1)  # one byte more detects excess data
    except zlib.error as error:
        raise DamagedValue(f"it cannot be unpacked ({error})") from error
    if len(content) > 4 * most:
        raise DamagedValue(f"it unpacks to more than its {most:,} values")
    if not unzip.eof or len(content) % 4 or (count is not None and len(content) != 4 * count):
        raise DamagedValue(
            "it is truncated" + ("" if count is None else f": {len(content) // 4:,} of {count:,} values")
        )
    floats = array.array("f")
    floats.frombytes(content)
    if sys.byteorder == "big":
        floats.byteswap()
    return floats


def kept_count(count: int, thinned: int | None) -> int:
    """How many of `count` values are kept if one of each `thinned` consecutive ones is."""
    return count if thinned is None else -(-count // max(1, thinned))


def kept_indices(count: int, thinned: int | None) -> Sequence[int]:
    """The indices of the kept values among the measured ones: the middles of blocks, of which the last may be short."""
    if thinned is None:
        return range(count)
    return [(start + min(start + thinned, count) - 1) // 2 for start in range(0, count, max(1, thinned))]


def check_length(count: int) -> None:
    """Raise if a series would be too long, before memory for it is allocated."""
    if not 0 <= count <= MOST_VALUES:
        raise DamagedValue(f"it has {count:,} values, and {MOST_VALUES:,} are the most that is read")


def facts_hash(facts: Mapping[str, Any]) -> str:
    """A hash of facts that does not depend on their order."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()
