"""The list of packages that recorded runs may load, which a person may edit."""

from __future__ import annotations

from normbench_cli import paths
from normbench_cli.registry.trust import allow_packages, allowed_packages


def test_packages_are_added_once_also_after_an_edit_that_left_the_last_line_without_an_end() -> None:
    allow_packages(["one"])
    file = paths.allowed_file()
    file.write_text(file.read_text() + "two")
    allow_packages(["three", "one"])
    allow_packages(["four"])
    assert allowed_packages() == ["four", "one", "three", "two"]
    assert file.read_text().endswith("one\ntwo\nthree\nfour\n")
