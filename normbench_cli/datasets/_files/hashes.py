"""The SHA-256 of a file.  Hashes of large files are cached in the home folder until the file changes."""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from normbench_cli import paths
from normbench_cli.errors import NormbenchError

SMALL = 1 << 20  # bytes; hashing such a file is faster than looking it up
UNSETTLED_NS = 2_000_000_000  # a file changed so recently may change again within one tick of the file system's clock
Known = dict[str, list[object]]  # path -> size, mtime, ctime, hash


def hash_of(path: Path) -> str:
    """Return the hash of a file's bytes, from the cache if possible."""
    before = path.stat()
    if before.st_size <= SMALL:
        return hash_bytes(path)
    key, stamp = str(path.resolve()), [before.st_size, before.st_mtime_ns, before.st_ctime_ns]
    if (known := read_known().get(key)) and known[:-1] == stamp:
        return str(known[-1])
    digest, after = hash_bytes(path), path.stat()
    if [after.st_size, after.st_mtime_ns, after.st_ctime_ns] != stamp:
        raise NormbenchError(f"{path} changed while it was read", "wait until it is complete and try again")
    if time.time_ns() - max(before.st_mtime_ns, before.st_ctime_ns) > UNSETTLED_NS:
        remember(key, [*stamp, digest])
    return digest


def hash_bytes(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_known() -> Known:
    """Read the cached hashes; empty if they cannot be read."""
    try:
        known = json.loads(paths.file_hashes().read_text(encoding="utf-8"))
        return {key: value for key, value in known.items() if isinstance(value, list) and len(value) == 4}
    except (OSError, ValueError, AttributeError):
        return {}


def remember(key: str, value: list[object]) -> None:
    """Add a hash to the cache; if the cache cannot be written, the file is hashed again next time."""
    target = paths.file_hashes()
    text = json.dumps(read_known() | {key: value}, indent=0)
    with suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            unfinished = Path(folder) / target.name
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(target)  # atomic, even with two processes
