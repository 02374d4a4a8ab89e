"""A store, and a short way to add runs to it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func

from normbench_cli.store import Store, statements
from normbench_cli.store._spool import recorder
from tests.faults import small_disk

Enter = Callable[..., str]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests of modules that are marked `every_database` run on PostgreSQL too, unless they look into the file."""
    if metafunc.definition.get_closest_marker("every_database") and "store" in metafunc.fixturenames:
        if {"file", "rows"} & set(metafunc.fixturenames):
            return
        metafunc.parametrize("store", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)


@pytest.fixture
def store(home: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    if getattr(request, "param", "sqlite") == "postgresql":
        monkeypatch.setenv("NORMBENCH_DB", request.getfixturevalue("postgres_database"))
        monkeypatch.setattr(statements, "LISTENING_SINCE", func.to_timestamp(0))  # it has been running for years
    with Store.open() as opened:
        yield opened


@pytest.fixture
def file(home: Path) -> Path:
    """The file of the store."""
    return home / "normbench.db"


@pytest.fixture
def enter(store: Store) -> Enter:
    """Add a run that is finished (or has another ``status``), with settings and metrics: its id."""

    def run(
        status: str = "finished", metrics: dict[str, float] | None = None, kind: str = "train", **config: Any
    ) -> str:
        fingerprint = ",".join(f"{key}={value}" for key, value in sorted(config.items()))
        run_id = store.begin(config, fingerprint, {"host": "here"}, kind=kind, argv=["train"])
        store.record(run_id, metrics or {})
        if status != "running":
            store.end(run_id, status)
        return run_id

    return run


@pytest.fixture
def rows() -> Callable[[Path, str], list[tuple[Any, ...]]]:
    """The rows of a query on an SQLite file."""

    def read(path: Path, query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(path)) as connection:
            return connection.execute(query).fetchall()

    return read


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """No write waits for a lock, and every one tries the database."""
    for name in ("LOCK_TIMEOUT", "RETRY_LOCK_TIMEOUT"):
        monkeypatch.setattr(recorder, name, 0.02)
    monkeypatch.setattr(recorder, "SECONDS_BETWEEN_TRIES", 0)


@pytest.fixture
def database(home: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A database outside of the home folder; on a small disk where the fault is a full one."""
    home.mkdir()
    folder = tmp_path / "lab"
    callspec = getattr(request.node, "callspec", None)
    with small_disk(folder) if callspec and callspec.params.get("fault") == "full" else nullcontext():
        folder.mkdir(exist_ok=True)
        yield folder / "results.db"


@pytest.fixture
def server(postgres_database: str) -> Iterator[Store]:
    """A store on a PostgreSQL server."""
    with Store.open(postgres_database) as opened:
        yield opened
