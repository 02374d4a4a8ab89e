"""A claim and the runs of its suites -> a judgement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pandas as pd

from normbench_cli.reporting.claims import groups, shares
from normbench_cli.reporting.claims.judgement import Judgement, undecided
from normbench_cli.reporting.claims.pairs import accepts
from normbench_cli.suites import Claim

JUDGES: dict[str, Callable[[pd.DataFrame, Claim], Judgement]] = {
    "difference": groups.difference,
    "equal": groups.equal,
    "ratio": groups.ratio,
    "everywhere": groups.everywhere,
    "highest": groups.highest,
    "lowest": groups.lowest,
    "order": groups.order,
    "monotone": shares.monotone,
    "share": shares.share,
    "association": shares.association,
}


def judge(claim: Claim, frame: pd.DataFrame) -> Judgement:
    """Decide a claim from a long frame: settings, seed, run_id, metric, epoch (nan for a run's last value), value."""
    of_curve = claim.test == "monotone"
    rows = frame[
        frame["metric"].isin([claim.metric, claim.other, claim.best_by]) & (frame["epoch"].notna() == of_curve)
    ]
    rows = accepts(rows.drop_duplicates(["run_id", "metric", "epoch"]), claim.where)
    if rows.empty:
        return undecided("no run")
    found = JUDGES[claim.test](rows, claim)
    if claim.groups and len(common_seeds(rows, claim)) == 1:  # another seed may give another result
        return replace(found, verdict="not enough evidence", test=f"{found.test}; one seed")
    return found


def common_seeds(rows: pd.DataFrame, claim: Claim) -> set[int]:
    """The seeds with which every group was run."""
    return set.intersection(*(set(accepts(rows, group)["seed"]) for group in claim.groups))
