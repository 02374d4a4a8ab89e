"""Where normbench keeps things: its home folder, the database, a run's folder, data sets."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from normbench_cli.errors import NormbenchError


def home() -> Path:
    """NORMBENCH_HOME, or the platform's folder for user data."""
    chosen = os.environ.get("NORMBENCH_HOME")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_data_path

    return user_data_path("normbench", appauthor=False)


def database(option: str | None = None) -> str:
    """--db, else NORMBENCH_DB, else the home's normbench.db: a path or an SQLAlchemy URL."""
    return option or os.environ.get("NORMBENCH_DB") or str(home() / "normbench.db")


def set_compile_cache() -> None:
    """What torch.compile makes is kept in the home too, unless the person has said otherwise."""
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(home() / "compiled"))


def run_folder(run_id: str) -> Path:
    return home() / "runs" / run_id


def data_root() -> Path:
    """NORMBENCH_DATA, or the home's data folder."""
    chosen = os.environ.get("NORMBENCH_DATA")
    return Path(chosen).expanduser() if chosen else home() / "data"


def ensure_writable(folder: Path, name: str, to: str = "a folder") -> None:
    """Make the folder if need be, or say in one line why that cannot be."""
    do = f"set {name} to {to} that you may write to"
    nearest = next((place for place in (folder, *folder.absolute().parents) if os.path.exists(place)), folder)
    if nearest.is_dir() and read_only(nearest):  # asked before anything is made
        raise NormbenchError(f"the folder {nearest} is not writable", do)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NormbenchError(f"the folder {folder} cannot be made: {error.strerror}", do) from error


def read_only(path: Path) -> bool:
    """Not writable for this user, or marked so for everybody (which an administrator's rights would pass over)."""
    anybody = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
    return not os.access(path, os.W_OK) or not path.stat().st_mode & anybody
