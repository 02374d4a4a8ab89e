"""The hash of a large file is remembered until the file changes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from normbench_cli import paths
from normbench_cli.datasets._files import hashes
from normbench_cli.errors import NormbenchError


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """How often a file is read; all files are large, and have not changed for long."""
    monkeypatch.setattr(hashes, "SMALL", 0)
    monkeypatch.setattr(hashes, "UNSETTLED_NS", -1)
    counted = Mock(side_effect=hashes.hash_bytes)
    monkeypatch.setattr(hashes, "hash_bytes", counted)
    return counted


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data.bin"
    path.write_bytes(b"12345")
    return path


def test_a_file_is_hashed_once(hashed: Mock, file: Path) -> None:
    assert {hashes.hash_of(file) for _ in range(3)} == {hashlib.sha256(b"12345").hexdigest()}
    assert hashed.call_count == 1


@pytest.mark.parametrize("times", ["new", "restored"])
def test_a_changed_file_is_hashed_again_even_with_its_old_size_and_time(hashed: Mock, file: Path, times: str) -> None:
    before = file.stat()
    hashes.hash_of(file)
    file.write_bytes(b"54321")
    if times == "restored":
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert hashes.hash_of(file) == hashlib.sha256(b"54321").hexdigest()


def test_a_file_that_may_still_change_is_not_remembered(
    hashed: Mock, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hashes, "UNSETTLED_NS", 10**18)
    hashes.hash_of(file)
    assert not paths.file_hashes().exists()


def test_a_file_that_changes_while_it_is_read_is_an_error(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashes, "SMALL", 0)
    monkeypatch.setattr(hashes, "hash_bytes", lambda path: str(path.write_bytes(b"123456")))
    with pytest.raises(NormbenchError, match=r"data.bin changed while it was read; wait"):
        hashes.hash_of(file)


def test_small_files_are_not_remembered(file: Path) -> None:
    hashes.hash_of(file)
    assert not paths.file_hashes().exists()


@pytest.mark.parametrize("damage", ["", "[]", '{"x": 1}', "\0"])
def test_a_damaged_memory_is_made_anew(hashed: Mock, file: Path, home: Path, damage: str) -> None:
    home.mkdir()
    paths.file_hashes().write_text(damage)
    assert len({hashes.hash_of(file) for _ in range(3)}) == 1
    assert hashed.call_count == 1


def test_a_home_that_cannot_be_written_costs_only_time(hashed: Mock, file: Path, home: Path) -> None:
    home.write_text("a file where the folder should be")
    assert len({hashes.hash_of(file) for _ in range(2)}) == 1
    assert hashed.call_count == 2
