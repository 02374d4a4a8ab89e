"""A file is whole or stays what it was, and an error of a full disk names it and the bytes that are missing."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path
from typing import BinaryIO

import pytest

from normbench_cli import disk
from normbench_cli.errors import NormbenchError


class FullAfter(io.RawIOBase):
    """A file on a disk with room for so many bytes."""

    def __init__(self, room: int, number: int = errno.ENOSPC) -> None:
        self.room, self.number, self.content = room, number, b""

    def write(self, content: object) -> int:
        part = bytes(memoryview(content)[: self.room])  # type: ignore[arg-type]
        if not part:
            raise OSError(self.number, "No space left on device")
        self.room -= len(part)
        self.content += part
        return len(part)


@pytest.mark.parametrize(("sizes", "room", "missing"), [([3, 4], 5, 2), ([3, 4], 0, 7), ([3, 4], 7, 0), ([], 0, 0)])
def test_the_missing_bytes_are_counted(sizes: list[int], room: int, missing: int) -> None:
    file = disk.CountingFile(full := FullAfter(room))
    for size in sizes:
        assert file.write(b"x" * size) == size
    assert (file.missing, len(full.content)) == (missing, sum(sizes) - missing)
    if not missing:
        file.check(Path("x"))
        return
    with pytest.raises(disk.DiskFull, match=rf"^x cannot be written: .*\({missing} bytes missing\); free space"):
        file.check(Path("x"))


def test_another_error_is_not_a_full_disk() -> None:
    with pytest.raises(OSError, match="Errno 5"):
        disk.CountingFile(FullAfter(0, errno.EIO)).write(b"x")


def test_a_file_that_cannot_be_finished_stays_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    disk.write_text(path, "before ±")

    def fail(file: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(disk.DiskFull, match=r"file.txt cannot be written: No space left on device; free space"):
        disk.write_whole(path, fail)
    assert path.read_text(encoding="utf-8") == "before ±"
    assert list(tmp_path.iterdir()) == [path]


def test_of_two_that_write_the_same_file_the_last_one_counts(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"

    def write_beside_another(file: BinaryIO) -> None:
        file.write(b"the first ")
        disk.write_text(path, "the second")
        assert path.read_text() == "the second"
        file.write(b"one")

    disk.write_whole(path, write_beside_another)
    assert path.read_text() == "the first one"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_is_removed_later(tmp_path: Path) -> None:
    killed, alive, another = (tmp_path / f"{name}.writing" for name in ("file.7-ab", "file.8-cd", "file2.7-ef"))
    for path in (killed, alive, another):
        path.write_text("half")
    for path in (killed, another):
        os.utime(path, (0, 0))
    disk.write_text(tmp_path / "file", "whole")
    assert {path.name for path in tmp_path.iterdir()} == {"file", alive.name, another.name}


def test_a_full_disk_is_found_behind_other_errors() -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    wrapper = RuntimeError("enforce fail")
    wrapper.__context__ = ValueError()
    wrapper.__context__.__cause__ = full
    assert disk.full_disk_in(wrapper) is full
    assert disk.full_disk_in(OSError(errno.EIO, "")) is None
    full.__context__ = wrapper  # a circle ends
    assert disk.full_disk_in(NormbenchError("another")) is None


def test_free_space_of_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    assert disk.free_bytes(tmp_path / "no" / "such") > 0
