"""The numbers of a measurement as text: values in their display unit, changes, bands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from normbench_cli.nightly.series import Finding, Measurement

MINUS = "-"
UNITS = {"fraction": (100.0, "%"), "bytes": (2.0**-20, "MiB")}  # display units: factor, unit
SMALLEST = 0.0005  # a relative change below it would be shown as 0.0 %
DIGITS = 17  # of an exact value


def shown_unit(measurement: Measurement) -> tuple[float, str]:
    """The factor from a recorded value to the display unit, and that unit."""
    return UNITS.get(measurement.unit, (1.0, measurement.unit))


def value_text(measurement: Measurement, value: float, *, exact: bool = False) -> str:
    """``12.41 ms``, ``97.22 %``; four digits, or with `exact` all of them."""
    factor, unit = shown_unit(measurement)
    if not math.isfinite(value):
        return "-" if value != value else str(value)
    text = f"{value * factor:.{DIGITS}g}" if exact else four_digits(value * factor)
    return f"{text} {unit}".rstrip()


def four_digits(number: float) -> str:
    """At least four digits, and all those before the point: 0.01234, 12.34, 123,456."""
    if number == 0:
        return "0"
    before = math.floor(math.log10(abs(number))) + 1
    return f"{number:.3e}" if before < -4 or before > 9 else f"{number:,.{max(0, 4 - before)}f}"


def values_text(measurement: Measurement, values: Sequence[float]) -> str:
    """``12.9, 13.1, 12.8 ms (median 12.9 ms)``."""
    listed = ", ".join(
        value_text(measurement, value).removesuffix(shown_unit(measurement)[1]).strip() for value in values
    )
    if len(values) == 1:
        return value_text(measurement, values[0])
    return f"{listed} {shown_unit(measurement)[1]}".rstrip() + f" (median {value_text(measurement, median(values))})"


def band_text(finding: Finding) -> str:
    """``11.9 to 12.6 ms``; a dash where nothing was compared."""
    low, high, measurement = finding.low, finding.high, finding.measurement
    if low != low or high != high:
        return "-"
    if low == high:
        return value_text(measurement, low)
    factor, unit = shown_unit(measurement)
    return f"{four_digits(low * factor)} to {four_digits(high * factor)} {unit}".rstrip()


def change_text(finding: Finding) -> str:
    """``+12.3 %`` of the expected value; a difference if that is zero or the change is too small for per cent."""
    change = finding.change
    if finding.value == finding.expected:
        return "0 %"
    if math.isfinite(change) and abs(change) >= SMALLEST:
        return f"{change * 100:+,.1f} %"
    if math.isfinite(finding.value - finding.expected):
        factor, unit = shown_unit(finding.measurement)
        return f"{(finding.value - finding.expected) * factor:+.2g} {unit}".rstrip()
    return "-"
