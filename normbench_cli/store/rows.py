"""What a run yields -> rows: metrics one a value, raw series packed."""

from __future__ import annotations

import array
import hashlib
import json
import sys
import zlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from normbench_cli.store.metric_names import parse_metric, unit_of


def now() -> datetime:
    return datetime.now(UTC)


def metric_rows(run_id: str, metrics: Mapping[str, float], epoch: int | None, step: int | None) -> list[dict[str, Any]]:
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


def series_row(run_id: str, name: str, values: Iterable[float], epoch: int | None, first_step: int) -> dict[str, Any]:
    count, data = pack(values)
    return {
        "run_id": run_id,
        "name": name,
        "epoch": epoch,
        "first_step": first_step,
        "count": count,
        "data": data,
    }


def pack(values: Iterable[float]) -> tuple[int, bytes]:
    """Numbers -> their count and their zlib-compressed little-endian float32 bytes."""
    floats = array.array("f", (float(value) for value in values))
    if sys.byteorder == "big":
        floats.byteswap()
    return len(floats), zlib.compress(floats.tobytes(), 6)


def unpack(data: bytes) -> array.array[float]:
    floats = array.array("f")
    floats.frombytes(zlib.decompress(data))
    if sys.byteorder == "big":
        floats.byteswap()
    return floats


def facts_hash(facts: Mapping[str, Any]) -> str:
    """Equal facts, in whatever order, give equal hashes."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()
