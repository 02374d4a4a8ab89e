"""Settings written as key=value."""

from __future__ import annotations

import pytest

from normbench_cli.axes.assignments import read_assignments
from normbench_cli.errors import UsageError


def test_settings_are_checked_by_name() -> None:
    assert read_assignments("--set", ["init=torch", "note=a=b"]) == [("init", "torch"), ("note", "a=b")]
    with pytest.raises(UsageError, match="no setting 'nokey'"):
        read_assignments("--set", ["nokey=1"])
    with pytest.raises(UsageError, match="--where lr is not key=value; write --where key=value"):
        read_assignments("--where", ["lr"])
