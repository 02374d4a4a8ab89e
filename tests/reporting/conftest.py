"""A database with runs of two norms, and a short way to the report of a query."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from normbench_cli.reporting.query import ReportQuery
from normbench_cli.reporting.report import Report, report_of
from normbench_cli.store import Store


def record_two_norms() -> None:
    with Store.open() as store:
        for norm, seed, status in (
            ("none", 0, "finished"),
            ("none", 1, "finished"),
            ("a|b", 0, "finished"),
            ("a|b", 1, "diverged"),
        ):
            config = {"norm": norm, "seed": seed, "epochs": 4, "tag": "t" if seed else ""}
            run_id = store.begin(config, f"{norm}{seed}", {}, argv=[])
            for epoch in range(1, 5):
                store.record(run_id, {"test/accuracy": (epoch + seed) / 10, "extra": seed}, epoch=epoch)
            store.end(run_id, status)


@pytest.fixture
def two_norms(fill_once: Callable[..., None]) -> Iterator[Store]:
    """Two norms and two seeds over four epochs; one run diverged."""
    fill_once(record_two_norms)
    with Store.open() as store:
        yield store


@pytest.fixture
def reported(two_norms: Store) -> Callable[[ReportQuery], Report]:
    return lambda query: report_of(two_norms, query)
