"""The values of two groups of runs, paired by everything that the groups do not set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from normbench_cli.suites.read_claims import Settings

BLOCK = ("act", "data", "model", "norm", "objective", "seed", "weight_decay")  # what may differ between runs of suites


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
    """Columns a and b, a row for each pair, and the columns by which they are paired.  A pair of which one run diverged
    is left out."""
    block = block_of(frame, (first, second))
    sides = [
        accepts(frame, group).drop_duplicates(block)[[*block, "value"]].rename(columns={"value": name})
        for name, group in (("a", first), ("b", second))
    ]
    joined = sides[0].merge(sides[1], on=block) if block else sides[0].merge(sides[1], how="cross")
    return joined[np.isfinite(joined["a"]) & np.isfinite(joined["b"])]
