"""Paths of files: normbench's home folder, the database, the folder of a run, data sets."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from normbench_cli.errors import NormbenchError, UsageError


def home() -> Path:
    """The folder for everything that normbench writes: NORMBENCH_HOME, or the platform's folder for user data."""
    chosen = os.environ.get("NORMBENCH_HOME")
    if chosen:
        return expanded(chosen)
    from platformdirs import user_data_path  # slow to import

    return user_data_path("normbench", appauthor=False)


def expanded(text: str) -> Path:
    """A path given by a user, with ~ and ~name expanded."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise UsageError(f"the path {text} names an unknown user", "write the path out") from error


def database(option: str | None = None) -> str:
    """The path or SQLAlchemy URL of the database: --db, else NORMBENCH_DB, else normbench.db in the home folder."""
    return option or os.environ.get("NORMBENCH_DB") or str(home() / "normbench.db")


def set_compile_cache() -> None:
    """Keep torch.compile's cache in the home folder, unless TORCHINDUCTOR_CACHE_DIR is set."""
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(home() / "compiled"))


def kernels() -> Path:
    """The folder of compiled kernel libraries, beside torch's compile cache."""
    return Path(os.environ.get("TORCHINDUCTOR_CACHE_DIR") or home() / "compiled") / "normbench"


def set_plot_cache() -> None:
    """Keep matplotlib's font cache in the home folder, unless MPLCONFIGDIR is set."""
    os.environ.setdefault("MPLCONFIGDIR", str(home() / "matplotlib"))


def run_folder(run_id: str) -> Path:
    """The folder of a run's checkpoints and logs."""
    return home() / "runs" / run_id


def file_hashes() -> Path:
    """The cached hashes of the data sets' large files."""
    return home() / "file-hashes.json"


def bandwidth_file() -> Path:
    """The cached memory bandwidth of this machine, by working-set size."""
    return home() / "bandwidth.json"


def allowed_file() -> Path:
    """The list of packages that specs from databases and files may import."""
    return home() / "allowed-packages.txt"


def data_root() -> Path:
    """Where data sets are looked for and downloaded to: NORMBENCH_DATA, or data/ in the home folder."""
    chosen = os.environ.get("NORMBENCH_DATA")
    return expanded(chosen) if chosen else home() / "data"


def temporary() -> Path:
    """The system's folder for temporary files; `tempfile.gettempdir` would choose another one while it is full."""
    return Path(next((os.environ[name] for name in ("TMPDIR", "TEMP", "TMP") if os.environ.get(name)), "/tmp"))


def ensure_writable(folder: Path, name: str, to: str = "a folder") -> None:
    """Create the folder if it is missing; raise if it cannot be created or written to.

    name: the variable or option that sets it; to: what it should be set to, for the message.
    """
    do = f"set {name} to {to} that you may write to"
    # os.path.exists, unlike Path.exists, is False if a parent is not searchable
    existing = (place for place in (folder, *folder.absolute().parents) if os.path.exists(place))  # noqa: PTH110
    nearest = next(existing, folder)
    if nearest.is_dir() and read_only(nearest):  # checked first, so that nothing is left behind
        raise NormbenchError(f"the folder {nearest} is not writable", do)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NormbenchError(f"the folder {folder} cannot be created: {error.strerror}", do) from error


def read_only(path: Path) -> bool:
    """Whether this user may not write there, or the mode forbids it to everyone (which would not stop root)."""
    anyone = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
    return not os.access(path, os.W_OK) or not path.stat().st_mode & anyone
