"""A database exported as one file: what was recorded, without the folders of the machine, and merged elsewhere."""

from __future__ import annotations

import lzma
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from normbench_cli.errors import DatabaseError
from normbench_cli.store import Store
from normbench_cli.store.export import export
from normbench_cli.store.export_database import NAME, decompress
from normbench_cli.store.filter import parse_where
from normbench_cli.store.merge import merge
from normbench_cli.store.queries import runs_frame, series


@pytest.fixture
def recorded() -> list[str]:
    """Two runs, with a curve, and with paths of this machine."""
    with Store.open() as store:
        ids = []
        for norm in ("popnorm", "batchnorm"):
            details = {"data": {"source": "/folder/of/mine/cifar", "digest": "d"}}
            argv = ["reproduce", "--out", "/folder/of/mine/reports"]
            ids.append(store.begin({"norm": norm}, norm, {"host": norm}, argv=argv, details=details))
            store.record(ids[-1], {"test/accuracy": 0.5}, epoch=1, step=3, series={"loss": [3.0, 2.0, 1.0]})
            store.end(ids[-1], "finished")
    return ids


def exported(folder: Path, *where: str, series: bool = True) -> Path:
    with Store.open(write=False) as store:
        export(store, folder, "sqlite", series=series, where=parse_where(list(where)))
    return folder


def merged(folder: Path, tmp_path: Path) -> Store:
    store = Store.open(str(tmp_path / "other.db"))
    merge(store, [str(folder)])
    return store


def test_it_is_one_file_without_the_machines_folders_that_brings_everything_back(
    recorded: list[str], tmp_path: Path
) -> None:
    folder = exported(tmp_path / "kept")
    (file,) = folder.iterdir()
    assert b"/folder/of/mine" not in lzma.decompress(file.read_bytes())
    with merged(folder, tmp_path) as store:
        assert sorted(runs_frame(store)["id"]) == sorted(recorded)
        assert store.latest_metrics(recorded[0]) == {"test/accuracy": 0.5}
        assert series(store, recorded[0], "loss").tolist() == [3.0, 2.0, 1.0]
        found = store.find(recorded[0])
        assert (found.argv[2], found.details["data"]) == ("reports", {"source": "cifar", "digest": "d"})


def test_some_runs_come_with_their_environment_alone_and_series_only_if_asked_for(
    recorded: list[str], tmp_path: Path
) -> None:
    folder = exported(tmp_path / "kept", "norm=popnorm", series=False)
    decompress(folder / NAME, tmp_path / "whole.db")
    with closing(sqlite3.connect(tmp_path / "whole.db")) as connection:
        counts = {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("runs", "environments", "metrics", "samples")
        }
    assert counts == {"runs": 1, "environments": 1, "metrics": 1, "samples": 0}


def indexes(path: Path) -> set[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        return set(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index'"))


def test_indexes_are_left_out_and_created_again_with_all_their_columns(recorded: list[str], tmp_path: Path) -> None:
    with Store.open() as store:
        assert store.location.path is not None
        before = indexes(store.location.path)
    file = exported(tmp_path / "kept") / NAME
    (tmp_path / "plain.db").write_bytes(lzma.decompress(file.read_bytes()))
    assert len(before) > 10
    assert {name for name, _ in indexes(tmp_path / "plain.db")} == {name for name, sql in before if sql is None}
    restored = indexes(decompress(file, tmp_path / "whole.db"))
    assert {(name, sql and sql.replace('"', "")) for name, sql in restored} == before
    merged(tmp_path / "plain.db", tmp_path).close()  # a file decompressed by hand


def test_a_damaged_file_is_named_and_nothing_is_left_behind(recorded: list[str], tmp_path: Path) -> None:
    file = exported(tmp_path / "kept") / NAME
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(DatabaseError, match=r"normbench\.db\.xz is damaged"):
        merged(file.parent, tmp_path)
    assert not list(tmp_path.glob(".merging-*"))
