"""What a night comes to: counts, the outcome, the exit code."""

from __future__ import annotations

import pytest

from tests.nightly.pages.nights import BUMP, SLOW, night


@pytest.mark.parametrize(
    ("number", "changes", "outcome", "code"),
    [
        (5, {}, "fine", 0),
        (BUMP, {}, "fine", 0),  # a new baseline is no problem
        (SLOW, {"failed": {"a": "why"}}, "regression", 3),
        (5, {"judged": ()}, "nothing measured", 4),
        (5, {"left_out": {"a": "why"}}, "fine", 0),
        (5, {"failed": {"a": "why"}}, "incomplete", 5),
        (5, {"message": "interrupted"}, "incomplete", 5),
    ],
)
def test_the_worst_that_happened_is_the_outcome(
    number: int, changes: dict[str, object], outcome: str, code: int
) -> None:
    verdict = night(number, **changes).verdict
    assert verdict
    assert (verdict.outcome, verdict.exit_code) == (outcome, code)


def test_what_is_muted_counts_nowhere_else() -> None:
    verdict = night(SLOW).verdict
    assert verdict
    assert [one.name for one in verdict.muted] == ["layer/augnorm saved_activation_bytes"]
    assert [one.name for one in verdict.of("regression")] == ["resnet20/popnorm step_time_ms"]
    assert verdict.counts.total() == len(verdict.judged) - 1


def test_the_largest_change_comes_first() -> None:
    verdict = night(11).verdict
    assert verdict
    changes = [abs(one.finding.change) for one in verdict.of("regression", "improvement", "fine")]
    assert changes == sorted(changes, reverse=True)
