"""How the environments of nights differ, in words."""

from __future__ import annotations

from normbench_cli.nightly.pages.facts import baseline_reason, changed_facts, class_names
from normbench_cli.nightly.pages.trends import histories
from tests.nightly.pages.nights import BUMP, environment, nights


def test_a_change_names_the_version_that_changed() -> None:
    assert changed_facts(environment(0), environment(BUMP)) == ["torch 2.12.0 -> 2.13.0"]
    assert changed_facts({"driver": "1"}, {"threads": 2}) == ["threads none -> 2", "driver 1 -> none"]


def test_another_commit_is_no_change_of_the_environment() -> None:
    assert changed_facts(environment(0), environment(1)) == []


def test_a_new_baseline_says_why() -> None:
    (history, *_) = histories(nights(BUMP + 1)).values()
    (summary, one) = history[-1]
    assert baseline_reason(summary, one, history[:-1]) == "torch 2.12.0 -> 2.13.0"
    assert baseline_reason(summary, one, []) == "the first night of this measurement"
    assert baseline_reason(summary, one, [history[-1]]) == f"accepted after {summary.day}"


def test_classes_are_called_by_what_tells_them_apart() -> None:
    old, new = (night.summary for night in nights(BUMP + 1)[1:])
    assert class_names({"aaaa": old, "bbbb": new}) == {"aaaa": "torch 2.12.0", "bbbb": "torch 2.13.0"}
    assert class_names({"aaaa": old, "bbbb": old}) == {"aaaa": "settings (aaaa)", "bbbb": "settings (bbbb)"}
