"""Recorded times in the user's time zone."""

from __future__ import annotations

from datetime import UTC, datetime


def local_time(moment: datetime) -> datetime:
    """Convert a time to the user's time zone, or to UTC if Python cannot use that zone, as with TZ=UTC+99."""
    try:
        return moment.astimezone()
    except (ValueError, OverflowError, OSError):
        return moment.astimezone(UTC)
