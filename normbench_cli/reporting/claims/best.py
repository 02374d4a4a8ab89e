"""Each group of a claim at its best: a metric selects among the settings that the group was run with.

The selection is by the mean over seeds, separate for each suite and each value of the settings that runs stay paired
by; it must use a metric other than the claim's, such as the validation accuracy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from normbench_cli.config import IDENTITY
from normbench_cli.registry.spec import format_value
from normbench_cli.reporting.claims.pairs import accepts
from normbench_cli.store.metric_names import higher_is_better
from normbench_cli.suites import Claim
from normbench_cli.suites.read_claims import Settings

STAY = ("suite", "act", "objective")  # selection is separate for each, unless the groups set it


def best_pairs(frame: pd.DataFrame, claim: Claim) -> tuple[pd.DataFrame, str]:
    """Return columns a and b, one row per pair of equal seed and `STAY` settings; and the selection as text."""
    stay = [name for name in STAY if name in frame.columns and not any(name in group for group in claim.groups)]
    chosen = [best_of(frame, group, stay, claim) for group in claim.groups]
    keys = [*stay, "seed"]
    sides = [
        side[[*keys, "value"]].rename(columns={"value": name}) for side, name in zip(chosen, ("a", "b"), strict=True)
    ]
    joined = sides[0].merge(sides[1], on=keys)
    found = joined[np.isfinite(joined["a"].astype(float)) & np.isfinite(joined["b"].astype(float))]
    return found, "; ".join(described(side, frame, stay) for side in chosen if len(side))


def best_of(frame: pd.DataFrame, group: Settings, stay: Sequence[str], claim: Claim) -> pd.DataFrame:
    """Return a group's runs at the best settings for each value of `stay`; `choices`: the number of candidates."""
    runs = accepts(frame, group)
    settings = [name for name in IDENTITY if name in runs.columns and name != "seed"]
    runs = runs.assign(settings=[str(tuple(row)) for row in runs[settings].itertuples(index=False)])
    values = runs[runs["metric"] == claim.metric]
    choosing = runs[runs["metric"] == claim.best_by].astype({"value": float}).dropna(subset="value")
    means = choosing.groupby([*stay, "settings"], sort=False)["value"].mean().reset_index()
    means = means.sort_values("value", ascending=higher_is_better(claim.best_by) is False)
    choices = means.groupby(list(stay), sort=False)["settings"].transform("size") if len(means) else 0
    best = means.assign(choices=choices).drop_duplicates(list(stay))[[*stay, "settings", "choices"]]
    return values.merge(best, on=[*stay, "settings"])


def described(chosen: pd.DataFrame, frame: pd.DataFrame, stay: Sequence[str]) -> str:
    """sigmoid popnorm init_gain=3, best of 5: the varying settings that differ from their most frequent value."""
    names = [name for name in IDENTITY if name in frame.columns and name not in ("seed", *stay)]
    varying = [name for name in names if frame[name].nunique(dropna=False) > 1]
    usual = {name: frame[name].mode(dropna=False).iloc[0] for name in varying}
    texts = []
    for _, run in chosen.drop_duplicates([*stay, *varying]).iterrows():
        where = " ".join(str(run[name]) for name in stay if frame[name].nunique() > 1 or name == "act")
        shown = (f"{name}={format_value(run[name])}" for name in varying if name != "norm" and run[name] != usual[name])
        texts.append(" ".join(filter(None, [where, str(run["norm"]), *shown])) + f", best of {run['choices']}")
    return "; ".join(texts)
