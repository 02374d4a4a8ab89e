"""Detecting files on network file systems, where SQLite's locks and its write-ahead log are unreliable."""

from __future__ import annotations

import re
from pathlib import Path

MOUNTS = Path("/proc/mounts")  # Linux: one line per mount: device, folder, kind, options
KINDS = {
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ncpfs", "lustre", "gpfs", "beegfs", "ceph", "glusterfs"),
    *("panfs", "orangefs", "pvfs2", "gfs2", "ocfs2", "davfs", "sshfs"),
}
ESCAPED = re.compile(r"\\([0-7]{3})")  # a space is \040
SAID: set[Path] = set()  # files that this process has already warned about


def network_kind(path: Path) -> str:
    """The kind of network file system of a file, such as ``nfs4``; empty if it is local or unknown."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    place, found, longest = path.resolve(), "", -1
    for _, folder, kind, *_ in (line.split(" ") for line in lines if line.count(" ") >= 3):
        mount = Path(ESCAPED.sub(lambda octal: chr(int(octal[1], 8)), folder))
        if len(mount.parts) >= longest and place.is_relative_to(mount):  # the last mount on a folder hides others
            found, longest = kind.removeprefix("fuse."), len(mount.parts)
    return found if found in KINDS else ""


def warning(path: Path) -> str:
    """A warning about a file in a network folder, once per process; otherwise empty."""
    kind = "" if path in SAID else network_kind(path)
    if not kind:
        return ""
    SAID.add(path)
    return (
        f"the database {path} is in a network folder ({kind}), where SQLite may lose rows as soon as two "
        "machines write; share a PostgreSQL database (--db postgresql://user@host/name), or merge a file of each"
    )
