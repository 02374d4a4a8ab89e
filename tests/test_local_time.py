"""Times on the user's clock, also where the clock's zone is nonsense."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from normbench_cli.local_time import local_time
from normbench_cli.store._repair.replacements import repaired_row

NOON = datetime.fromisoformat("2026-01-31T12:00:00+00:00")

pytestmark = pytest.mark.skipif(not hasattr(time, "tzset"), reason="this system's time zone is no variable")


@pytest.fixture
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize(
    ("zone", "shown"), [("UTC", "12:00"), ("XYZ-2", "14:00"), ("UTC+99", "12:00")], indirect=["zone"]
)
def test_a_moment_is_shown_in_the_zone_that_there_is(shown: str) -> None:
    assert f"{local_time(NOON):%H:%M}" == shown


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize("zone", ["XYZ-14"], indirect=True)
def test_the_day_of_a_repaired_night_is_the_local_date() -> None:
    assert repaired_row("nights", ["day"], {"started_at": NOON}) == {"day": "2026-02-01"}
