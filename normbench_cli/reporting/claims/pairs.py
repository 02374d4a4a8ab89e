"""The values of two groups of runs, paired by everything that the groups do not set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from normbench_cli.config import IDENTITY
from normbench_cli.suites.read_claims import Settings

BLOCK = ("act", "data", "model", "norm", "objective", "seed", "weight_decay")  # may differ between runs of suites


def accepts(frame: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """The rows whose settings are among the accepted ones."""
    for name, values in settings.items():
        frame = frame[frame[name].isin(list(values))]
    return frame


def block_of(frame: pd.DataFrame, groups: Sequence[Settings], without: Sequence[str] = ()) -> list[str]:
    """The columns that the groups do not set."""
    grouped = {name for group in groups for name in group}
    return [name for name in BLOCK if name in frame.columns and name not in grouped and name not in without]


def pairs(frame: pd.DataFrame, first: Settings, second: Settings) -> pd.DataFrame:
    """Columns a and b, one row per pair, and the columns that runs are paired by.  Pairs with a diverged run are
    dropped."""
    block = block_of(frame, (first, second))
    both = [accepts(frame, group) for group in (first, second)]
    block += shared_settings(both[0], both[1], [name for name in IDENTITY if name not in {*block, *first, *second}])
    sides = [
        side.drop_duplicates(block)[[*block, "value"]].rename(columns={"value": name})
        for name, side in zip(("a", "b"), both, strict=True)
    ]
    joined = sides[0].merge(sides[1], on=block) if block else sides[0].merge(sides[1], how="cross")
    return joined[np.isfinite(joined["a"]) & np.isfinite(joined["b"])]


def shared_settings(a: pd.DataFrame, b: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Settings that vary and have values in common between the groups; runs are paired by them.  A setting without
    common values, such as a norm's own learning rate, cannot pair runs."""
    found = []
    for name in names:
        if name in a.columns and name in b.columns:
            values = set(a[name]), set(b[name])
            if values[0] & values[1] and len(values[0] | values[1]) > 1:
                found.append(name)
    return found
