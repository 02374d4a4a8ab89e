"""A misspelled fact or one of the wrong type is an error that names the file and the fact."""

from __future__ import annotations

from typing import Any

import pytest
from torch import nn

from normbench_cli.errors import UsageError
from normbench_cli.registry import ATTACKS, NORMS
from normbench_cli.registry.facts import DataFacts, NormFacts, ScheduleFacts, make_facts


def test_facts_have_defaults() -> None:
    assert make_facts("norm", NormFacts, {}, "file.py") == NormFacts(placement="after", needs_batch=False)


@pytest.mark.parametrize(
    ("facts_type", "given", "says"),
    [
        (NormFacts, {"placment": "before"}, r"file.py: 'placment' is not a fact.*did you mean 'placement'"),
        (NormFacts, {"placement": "in front"}, r"file.py: .*placement='in front'.*choose from 'after', 'before'"),
        (NormFacts, {"needs_batch": 1}, r"file.py: .*needs_batch=1 .*write a bool"),
        (NormFacts, {"batch_free_with": "stats=group"}, r"file.py: .*batch_free_with='stats=group'.*tuple of strings"),
        (NormFacts, {"batch_free_with": (1,)}, r"file.py: .*batch_free_with=\(1,\).*tuple of strings"),
        (DataFacts, {"recipe": None}, r"file.py: .*recipe=None .*write a str"),
        (ScheduleFacts, {"speed": 1}, r"file.py: 'speed' is not a fact.*no component has facts"),
    ],
)
def test_wrong_facts_are_refused(facts_type: type, given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        make_facts("component", facts_type, given, "file.py")


def test_the_decorator_checks_the_facts_of_a_class_from_outside() -> None:
    with pytest.raises(UsageError, match=r"test_facts\.py: 'placment' is not a fact of this norm"):
        NORMS.register("theirs", placment="before")(type("Theirs", (nn.Module,), {"__module__": __name__}))


def test_the_decorator_keeps_the_facts_on_the_class() -> None:
    theirs = NORMS.register("theirs", placement="before")(type("Theirs", (nn.Module,), {}))
    assert vars(theirs)["normbench_entry"].facts == NormFacts(placement="before")


def test_a_kind_without_facts_says_so() -> None:
    with pytest.raises(UsageError, match="no attack has facts"):
        ATTACKS.register("theirs", gradient=True)(type("Theirs", (nn.Module,), {"__module__": __name__}))
