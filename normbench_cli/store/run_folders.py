"""The folders of runs in the home folder: folders without a run, runs without a folder, copying and renaming."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from normbench_cli import disk, paths
from normbench_cli.errors import DatabaseError, NormbenchError
from normbench_cli.store.location import Location, parse_location
from normbench_cli.store.sqlite_file import connect

CHECKPOINTS = "checkpoint-*.pt"
ID = re.compile("[0-9a-f]{8}")


def folders() -> dict[str, Path]:
    """Every run's folder, by the run's id."""
    runs = paths.home() / "runs"
    try:
        found = sorted(runs.iterdir()) if runs.is_dir() else []
    except OSError:  # `doctor` reports problems with the home folder
        found = []
    return {folder.name: folder for folder in found if folder.is_dir() and ID.fullmatch(folder.name)}


def orphans(present: Iterable[str], run_ids: Iterable[str], location: Location) -> list[str]:
    """Those of the folders whose run is in no database that uses this home folder: this one, the default, NORMBENCH_DB.

    present: ids of folders, listed before the runs were read, because a run is recorded before its folder is created.
    Empty if one of the databases cannot be read.
    """
    known = set(run_ids)
    for text in dict.fromkeys((str(paths.home() / "normbench.db"), paths.database())):
        other = parse_location(text)
        if other.name != location.name and (other.path is None or other.path.exists()):
            try:
                known |= ids_in(other)
            except Exception:  # for any reason it cannot be read, its runs are unknown
                return []
    return [run_id for run_id in present if run_id not in known]


def ids_in(location: Location) -> set[str]:
    if location.path is None:
        raise DatabaseError(f"{location} is not a file")
    connection = connect(location.path, location.read_query)
    try:
        return {run_id for (run_id,) in connection.execute("SELECT id FROM runs")}
    finally:
        connection.close()


def without_checkpoint(trained: Iterable[str]) -> list[str]:
    """The finished trainings that cannot be scored or loaded because their checkpoint is not here."""
    have = {run_id for run_id, folder in folders().items() if next(folder.glob(CHECKPOINTS), None)}
    return [run_id for run_id in trained if run_id not in have]


def set_aside(run_ids: Iterable[str]) -> Path:
    """Move folders to ``orphaned/`` in the home folder, where a person can inspect and remove them."""
    aside = paths.home() / "orphaned"
    try:
        aside.mkdir(exist_ok=True)
        for run_id in run_ids:
            names = (aside / f"{run_id}{f'-{number}' if number else ''}" for number in range(1000))
            paths.run_folder(run_id).rename(next(name for name in names if not name.exists()))
    except OSError as error:
        what = f"folders without a run cannot be moved to {aside}: {error.strerror}"
        raise NormbenchError(what, "move or remove them by hand") from error
    return aside


def copy_folder(source: Path, run_id: str) -> bool:
    """Copy the files from a source folder that the run's own folder lacks; returns whether there were any.

    A checkpoint is named after its step, and the newest one counts.
    """
    target = paths.run_folder(run_id)
    whole = [file for file in sorted(source.glob("*")) if file.is_file() and file.suffix != disk.UNFINISHED]
    missing = [file for file in whole if not (target / file.name).exists()]
    if not missing or source.resolve() == target.resolve():
        return False
    target.mkdir(parents=True, exist_ok=True)
    for file in missing:
        try:
            copy_file(file, target / file.name)
        except OSError as error:
            what = f"the rows are merged, but {file} could not be copied: {error.strerror}"
            raise NormbenchError(what, "fix that and merge again") from error
    return True


def copy_file(source: Path, target: Path) -> None:
    """Copy a file atomically."""
    with source.open("rb") as content:
        disk.write_whole(target, partial(shutil.copyfileobj, content))


def rename_folders(moved: Mapping[str, str]) -> None:
    """Rename the folders of runs whose ids have changed."""
    there = {old: paths.run_folder(old) for old in moved if paths.run_folder(old).is_dir()}
    between = {old: folder.rename(folder.with_name(f"{old}.moving")) for old, folder in there.items()}
    for old, folder in between.items():
        folder.rename(paths.run_folder(moved[old]))
