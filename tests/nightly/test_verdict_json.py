"""The verdict as JSON: read back as it was, and nothing else is read."""

from __future__ import annotations

import json
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normbench_cli.nightly.verdict_json import read_verdict, verdict_json
from normbench_cli.store.errors import DamagedValue
from tests.nightly.pages.nights import BUMP, night

DOCUMENT = Path(__file__).parents[2] / "normbench_cli" / "docs" / "nightly.md"


def document(number: int = 11) -> dict[str, Any]:
    verdict = night(number, failed={"a": "why"}).verdict
    assert verdict
    return verdict_json(verdict, [Path("/r/n.md"), Path("/r/n.html")])


@pytest.mark.parametrize("number", [0, BUMP, 5, 11])
def test_a_verdict_is_read_back(number: int) -> None:
    verdict = night(number, left_out={"b": "no time"}).verdict
    assert verdict
    stored = json.loads(json.dumps(verdict_json(verdict), allow_nan=False))
    assert repr(read_verdict(stored)) == repr(verdict)  # nan is not equal to nan


def test_what_a_program_needs_first_is_at_the_top() -> None:
    found = document()
    assert (found["outcome"], found["exit_code"], found["counts"]["regression"]) == ("regression", 3, 1)
    assert found["line"].endswith("; /r/n.md")
    assert found["pages"] == ["/r/n.md", "/r/n.html"]
    regression = next(one for one in found["findings"] if one["status"] == "regression")
    assert (regression["since"], regression["muted"], len(regression["again"])) == ("2026-11-16", None, 3)


def test_every_key_is_documented() -> None:
    found, text = document(), DOCUMENT.read_text()
    names = [*found, *found["counts"], *found["findings"][0], "until"]
    assert [name for name in names if f"`{name}`" not in text] == []


@given(st.data())
def test_a_damaged_verdict_is_refused_as_such(data: st.DataObject) -> None:
    """A value of any type anywhere in it, or a key less: it is read, or there is a DamagedValue."""
    found = deepcopy(document())
    place: Any = data.draw(st.sampled_from([found, found["findings"][0], found["findings"][3]]))
    key = data.draw(st.sampled_from(sorted(place)))
    junk = (
        st.none()
        | st.booleans()
        | st.floats()
        | st.text("a1-é\n", max_size=9)
        | st.lists(st.integers())
        | st.just({"a": [1]})
    )
    if data.draw(st.booleans()):
        place[key] = data.draw(junk)
    else:
        del place[key]
    with suppress(DamagedValue):
        assert verdict_json(read_verdict(found))["suite"] == found["suite"]
