"""Files in network folders are recognized by the mounts of the system, and named once."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from normbench_cli.store import Store, network_folder
from normbench_cli.store.network_folder import network_kind

LINES = """\
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw,vers=4.2 0 0
/dev/sdb1 /home/me/disk ext4 rw 0 0
me@host: /mnt/two\\040words fuse.sshfs rw 0 0
//nas/share /mnt/share cifs rw 0 0
/dev/fuse /mnt/portal fuse.portal rw 0 0
auto /auto autofs rw 0 0
10.0.0.1@tcp:/big /auto lustre rw 0 0
broken
"""


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "mounts"
    path.write_text(LINES)
    monkeypatch.setattr(network_folder, "MOUNTS", path)
    monkeypatch.setattr(network_folder, "SAID", set())
    return path


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("/home/me/results.db", "nfs4"),
        ("/home/me/disk/results.db", ""),
        ("/homes/results.db", ""),
        ("/mnt/two words/a/results.db", "sshfs"),
        ("/mnt/share/results.db", "cifs"),
        ("/mnt/portal/results.db", ""),
        ("/auto/results.db", "lustre"),
        ("/tmp/results.db", ""),
    ],
)
def test_the_innermost_mount_decides(mounts: Path, file: str, kind: str) -> None:
    assert network_kind(Path(file)) == kind


def test_without_a_list_of_mounts_nothing_is_said(mounts: Path) -> None:
    mounts.unlink()
    assert network_kind(Path("/home/me/results.db")) == ""


def test_one_line_says_it_once(mounts: Path, home: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    mounts.write_text(f"server:/x {tmp_path.resolve()} nfs rw 0 0\n")
    for write in (True, False):
        Store.open(write=write).close()
    (said,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert said.startswith(f"the database {home / 'normbench.db'} is in a network folder (nfs)")
    assert "--db postgresql://" in said
    assert "\n" not in said
