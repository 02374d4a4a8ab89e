"""Recorded times on the user's clock."""

from __future__ import annotations

from datetime import UTC, datetime


def local_time(moment: datetime) -> datetime:
    """A moment in the user's time zone; in UTC where that is none that Python can use, as with TZ=UTC+99."""
    try:
        return moment.astimezone()
    except (ValueError, OverflowError, OSError):
        return moment.astimezone(UTC)
