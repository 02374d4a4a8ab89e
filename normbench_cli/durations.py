"""Durations as options write them."""

from __future__ import annotations

import math
import re

from normbench_cli.errors import UsageError

SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}
DURATION = re.compile(rf"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)({'|'.join(SECONDS)})")


def parse_duration(text: str, *, problem: str = "not a time", examples: str = "90s, 30m or 2h") -> float:
    """The ``--budget`` ``90s``, ``30m``, ``10min``, ``1.5h``, ``2d`` in seconds.

    problem, examples: what the error says of another text, and what to write instead.
    """
    found = DURATION.fullmatch(text)
    seconds = float(found[1]) * SECONDS[found[2]] if found else 0.0
    if not 0 < seconds < math.inf:
        raise UsageError(f"--budget {text} is {problem}", f"write {examples}")
    return seconds
