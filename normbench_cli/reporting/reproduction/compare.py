"""A measured cell against the published one."""

from __future__ import annotations

import math
from dataclasses import dataclass

from normbench_cli.reporting.reproduction.cells import Measured
from normbench_cli.suites import Published

NO_NUMBER = "-"
FORMS = {"%": "{:.2f}", "fraction": "{:.4f}", "nodes": "{:.2f}", "sd": "{:.1f}"} | dict.fromkeys(
    ("graphs", "classes", "images"), "{:.0f}"
)


@dataclass(frozen=True)
class Comparison:
    """difference: ours minus published, where the two are comparable.  in_sd: in units of the pooled sd, if both sds
    are known."""

    difference: float | None = None
    in_sd: float | None = None


def compare(measured: Measured, published: Published | None) -> Comparison:
    if published is None or published.value is None or measured.mean is None or not measured.comparable:
        return Comparison()
    difference = measured.mean - published.value
    sd = pooled_sd(measured.sd, measured.n, published.sd, published.n)
    return Comparison(difference, difference / sd if sd else None)


def pooled_sd(first: float | None, n1: int, second: float | None, n2: int | None) -> float | None:
    """sqrt(((n1 - 1) s1^2 + (n2 - 1) s2^2) / (n1 + n2 - 2)); None unless both are known."""
    if first is None or second is None or n2 is None or n1 + n2 <= 2:
        return None
    return math.sqrt(((n1 - 1) * first**2 + (n2 - 1) * second**2) / (n1 + n2 - 2))


def number(value: float | None, sd: float | None = None, unit: str = "") -> str:
    """91.00 ± 7.06, with the usual decimals of the unit."""
    if value is None:
        return NO_NUMBER
    form = FORMS.get(unit, "{:.4g}")
    return form.format(value) + (f" ± {form.format(sd)}" if sd is not None else "")
