"""Merged databases: the same rows in any order, twice is once, nothing lost, nothing half done."""

from __future__ import annotations

import shutil
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from normbench_cli.store import Store
from normbench_cli.store.merge import merge
from tests.merging import Content, canonical, contents, make_database

ORDERS = list(permutations(range(3)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With an empty database."""
    place = tmp_path_factory.mktemp("merged")
    Store.open(str(place / "empty.db"), sweep=False).close()
    return place


def merged(folder: Path, into: str, *others: str) -> dict[str, list[str]]:
    """The contents of a copy of a database into which others were merged."""
    copy = folder / "into.db"
    shutil.copy(folder / into, copy)
    with Store.open(str(copy), sweep=False, synchronous="OFF") as store:
        merge(store, [str(folder / other) for other in others])
    return canonical(copy)


@settings(max_examples=12, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])
@given(st.tuples(contents(), contents(), contents()), st.sampled_from(ORDERS), st.sampled_from(ORDERS))
def test_three_databases_merged_in_any_order_give_the_same_rows_and_twice_is_once(
    folder: Path, home: Path, three: tuple[Content, ...], order: tuple[int, ...], other: tuple[int, ...]
) -> None:
    names = [f"{number}.db" for number in range(3)]
    for name, content in zip(names, three, strict=True):
        make_database(folder / "empty.db", folder / name, content)
    first, *rest = [names[number] for number in order]
    expected = merged(folder, "empty.db", first, *rest)
    assert merged(folder, first, *rest) == expected
    assert merged(folder, "empty.db", *(names[number] for number in other)) == expected
    shutil.copy(folder / "into.db", folder / "all.db")
    assert merged(folder, names[other[0]], "all.db") == expected
    assert merged(folder, "all.db", *names) == expected, "twice is once"
    ids = {(run_id, run["started"]) for content in three for run_id, run in content.runs.items()}
    assert len(expected["runs"]) == len(ids)
