"""What a reader of a page can do about a regression: commands ready to be copied."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from normbench_cli.nightly.verdict import Judged
from normbench_cli.reporting.document import Paragraph

SHORT = 12  # characters of a commit


def next_steps(suite: str, regressions: Sequence[Judged]) -> Iterator[Paragraph]:
    """How to find the commit of each regression, and how to accept or mute the first."""
    for one in regressions:
        if command := bisect_command(suite, one):
            yield Paragraph(f"Which commit changed {one.name}? This measures the commits between:", command)
    if regressions:
        name = regressions[0].name
        accept = shlex.join(["normbench", "nightly", "accept", name, "--suite", suite, "--reason", "WHY"])
        mute = shlex.join(
            ["normbench", "nightly", "mute", name, "--suite", suite, "--until", "DATE", "--reason", "WHY"]
        )
        yield Paragraph("If it is meant to be so, begin a new baseline:", accept)
        yield Paragraph("If it is known and has to wait, silence it until a day:", mute)


def bisect_command(suite: str, one: Judged) -> str:
    """Empty if the commits are unknown or the same."""
    good, bad = one.finding.before[:SHORT], one.finding.after[:SHORT]
    if not good or not bad or good == bad:
        return ""
    return shlex.join(["normbench", "nightly", "bisect", one.name, "--suite", suite, "--good", good, "--bad", bad])
