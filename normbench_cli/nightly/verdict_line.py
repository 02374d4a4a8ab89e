"""A night in one line, as printed on stdout and at the top of its pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from normbench_cli.nightly.numbers import change_text
from normbench_cli.nightly.series import Status
from normbench_cli.nightly.verdict import Judged, Verdict

NAMED = 3  # regressions that the line names
COUNTED: dict[Status, str] = {
    "suspected": "not confirmed",
    "improvement": "improved",
    "withdrawn": "withdrawn",
    "new baseline": "with a new baseline",
    "too short": "with too few nights to judge",
}


def verdict_line(verdict: Verdict, page: Path | None = None) -> str:
    """``canary 2026-11-19: fine, 58 measurements, 2 improved; reports/nightly-2026-11-19.md``."""
    line = f"{verdict.suite} {verdict.day}: {verdict_sentence(verdict)}" + (f"; {page}" if page else "")
    return " ".join(line.split())


def verdict_sentence(verdict: Verdict) -> str:
    """``1 regression (popnorm step_time_ms +12.3 % since 2026-11-17), 58 measurements, 2 improved``."""
    return ", ".join([head(verdict), *parts(verdict)])


def head(verdict: Verdict) -> str:
    regressions = verdict.of("regression")
    if not regressions:
        return {"nothing measured": "nothing was measured"}.get(verdict.outcome, verdict.outcome)
    named = [*map(regression_text, regressions[:NAMED])]
    more = [f"{len(regressions) - NAMED} more"] if len(regressions) > NAMED else []
    return f"{plural(len(regressions), 'regression')} ({', '.join([*named, *more])})"


def regression_text(one: Judged) -> str:
    since = f" since {one.finding.since}" if one.finding.since else ""
    return f"{one.name} {change_text(one.finding)}{since}"


def parts(verdict: Verdict) -> Iterator[str]:
    """The rest of the sentence: counts."""
    if verdict.judged:
        yield plural(len(verdict.judged), "measurement")
    for status, words in COUNTED.items():
        if verdict.counts[status]:
            yield f"{verdict.counts[status]} {words}"
    if verdict.muted:
        yield f"{len(verdict.muted)} muted"
    if verdict.failed:
        yield f"{plural(len(verdict.failed), 'cell')} failed"
    if verdict.left_out:
        yield f"{plural(len(verdict.left_out), 'cell')} left out"
    if verdict.message:
        yield verdict.message


def plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
