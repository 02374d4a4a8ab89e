"""The data of a report's runs: a note about them, and distinct names for data sets that share one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

SHOWN = 8  # digits of a digest that distinguish data sets of one name
Data = Mapping[str, Any]
Details = Mapping[str, Mapping[str, Any]]  # run -> its recorded details


def data_note(details: Details) -> list[str]:
    """``Data: digits (1,437 train, 360 test, 10 classes; digest 0123456789abcdef).``; none if no data is recorded."""
    recorded = dict.fromkeys(in_words(data) for data in data_of(details).values())  # without duplicates
    return [f"Data: {'; '.join(recorded)}."] if recorded else []


def disambiguate_data(details: Details, runs: pd.DataFrame) -> pd.DataFrame:
    """The runs; where one name stands for several data sets, part of the digest is added to it, so that no mean is
    taken over different data.  Embedded data count as one data set, and so do data that were not recorded."""
    digests = {
        run_id: str(data.get("digest", ""))[:SHOWN]
        for run_id, data in data_of(details).items()
        if data.get("source") != "embedded"
    }
    known: dict[str, set[str]] = {}
    for run_id, name in zip(runs["id"], runs["data"], strict=True):
        known.setdefault(name, set()).update({digests[run_id]} if run_id in digests else ())
    names = [
        f"{name} [{digests.get(run_id, 'not recorded')}]" if len(known[name]) > 1 else name
        for run_id, name in zip(runs["id"], runs["data"], strict=True)
    ]
    return runs.assign(data=pd.Series(names, index=runs.index, dtype=object))


def data_of(details: Details) -> dict[str, Data]:
    """Run -> its recorded data, without the runs that recorded none."""
    found = {run_id: one.get("data") for run_id, one in details.items()}
    return {run_id: data for run_id, data in found.items() if isinstance(data, Mapping)}


def in_words(data: Data) -> str:
    """``cifar10 (50,000 train, 10,000 test, 10 classes; digest 0123456789abcdef)``"""
    examples = data.get("examples")
    counts = examples if isinstance(examples, Mapping) else {}
    words = {split: "examples" if split == "all" else split for split in counts}
    parts = [f"{count:,} {words[split]}" for split, count in counts.items() if isinstance(count, int)]
    parts.append(f"{data.get('classes')} classes")
    return f"{data.get('name')} ({', '.join(parts)}; digest {data.get('digest')})"
