"""The papers' claims: every number of their texts in exactly one claim, and every claim decidable by its suites."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from normbench_cli import suites
from normbench_cli.config import RunConfig
from normbench_cli.errors import UsageError
from normbench_cli.suites.read_claims import TESTS, read_claims
from normbench_cli.suites.scales import paper_config
from tests.suites.test_suites import PRINTED

CLAIMS = suites.claims()
WHOLE = """
[[claims]]
name = "one"
text = "One is better."
suites = ["mine"]
test = "difference"
metric = "test/accuracy"
groups = [{ norm = "bn" }, { norm = "none" }]
least = 0
"""


def test_every_number_of_the_texts_is_in_exactly_one_claim() -> None:
    printed = Counter(
        (row["paper"], row["row"], row["metric"], row["value"], row["unit"], row["note"])
        for row in PRINTED
        if row["table"] == "text"
    )
    ours = Counter(
        (claim.suites[0].partition("/")[0], one.row, one.metric, one.value, one.unit, one.note)
        for claim in CLAIMS
        if (one := claim.printed)
    )
    assert sum(printed.values()) == 8
    assert ours == printed


@cache
def configs_of(name: str) -> list[RunConfig]:
    return [paper_config(cell, 0) for cell in suites.find(name).cells if not cell.is_of_data]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_claim_is_decidable_by_its_suites(claim: suites.Claim) -> None:
    """Its groups and its filter each find cells, and where a test needs bounds it has them."""
    configs = [config for name in claim.suites for config in configs_of(name)]
    for group in claim.groups or [{}]:
        wanted = {**claim.where, **group}
        assert any(all(getattr(config, name) in values for name, values in wanted.items()) for config in configs)
    needed = {"difference": {"least"}, "equal": {"margin"}, "share": {"share"}, "ratio": {"most"}}
    assert needed.get(claim.test, set()) <= set(claim.bounds)
    assert claim.text.endswith(".")
    assert claim.place
    assert bool(claim.other) == (claim.test == "association")


def test_names_are_unique_and_the_examples_of_every_paper_are_there() -> None:
    assert max(Counter(claim.name for claim in CLAIMS).values()) == 1
    assert {claim.suites[0].partition("/")[0] for claim in CLAIMS} == {
        name.partition("/")[0] for name in suites.names()
    }
    assert {claim.test for claim in CLAIMS} >= set(TESTS) - {"order"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("text =", "txet =", r"claim 1: there is no 'txet'; did you mean 'text'"),
        ('"difference"', '"diference"', r"there is no test 'diference'; did you mean 'difference'"),
        ('metric = "test/accuracy"', "", "claim 1 has no 'metric'"),
        ("norm = ", "nrom = ", "there is no 'nrom'; did you mean 'norm'"),
        ('"bn"', '"batchnrom"', "did you mean 'batchnorm'"),
        ('"difference"', '"share"', "'share' is a test of all runs"),
        ("[[claims]]", "[[claim]]", "there is no 'claim'; did you mean 'claims'"),
    ],
    ids=range(7),
)
def test_a_mistake_is_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "claims.toml"
    path.write_text(WHOLE)
    assert read_claims(path)[0].groups == ({"norm": ("batchnorm",)}, {"norm": ("none",)})
    path.write_text(WHOLE.replace(old, new))
    with pytest.raises(UsageError, match=message):
        read_claims(path)
