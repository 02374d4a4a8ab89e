"""Nights here have facts that do not depend on the machine, and a store of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from normbench_cli.store import Store

FACTS: dict[str, Any] = {
    "git_sha": "",
    "device": "cpu",
    "device_name": "a processor",
    "threads": 2,
    "platform": "Linux-6.1",
    "versions": {"torch": "2.13.0"},
}


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The environment that nights find; a test may change it."""
    found = FACTS | {"versions": dict(FACTS["versions"])}
    monkeypatch.setattr("normbench_cli.nightly.run.environment", lambda _: {**found})
    return found


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open() as opened:
        yield opened


@pytest.fixture
def without_pages(facts: dict[str, Any], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Nights write pages only where a test asks for them: they take the time."""
    if "pages" not in request.fixturenames:
        monkeypatch.setattr("normbench_cli.nightly.run.try_pages", lambda *_: ([], []))


@pytest.fixture
def pages() -> None:
    """Nights write their pages."""
