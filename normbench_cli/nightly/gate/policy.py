"""Every constant of the gate, with the reason for its value.  Figures are those of the simulation (docs/gate.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from normbench_cli.nightly.series import Kind, Measurement

# Nights that the band is made of.  Fewer make its width uncertain; with more, the band lags behind a slow drift.
WINDOW = 20

# Nights before the first judgement.  With fewer, one slow night is half of what is known.
FEWEST_NIGHTS = 3

# Half the width of the band in robust standard deviations.  It is narrow because leaving it is no alarm: it only asks
# for repeated measurements.  A 10 % slowdown under 3 % noise must leave it on most nights.
BAND = 1.1

# A band of n nights is wider by the factor 1 + (NARROWS / n)^2: neither its middle nor its width is known exactly.
NARROWS = 5.0

# So many nights' weight has the usual noise of a kind beside the noise that was seen: the spread of three values alone
# is too often too small by chance.
USUAL_WEIGHT = 5.0

# Repeated measurements that settle a suspicion, and how many of them must lie outside of the band.  Counting them
# needs no estimate of the night's own noise: where the noise is three times the usual, values lie outside easily, but
# not eight of nine, and the median of them not twice as far out as the edge.
REMEASUREMENTS = 9
AGREE = 8
FAR = 2.4

# With fewer, or less far out, the night counts in part: a second such night among the last three makes a regression.
# Noisy nights are one in ten, so two of three are rare.  After such a night the next ones are measured again anyway.
AGREE_IN_PART = 6
NIGHTS_TOGETHER = 3

# The first repetitions decide whether the others are worth their time: two of three must lie outside.  And three are
# enough if all lie outside by four times the width of the band.
FIRST_REMEASUREMENTS = 3
FIRST_AGREE = 2
VERY_FAR = 4.0

# Nights in a row outside of the band that count without any repeated measurement (there was no time for them).
NIGHTS_IN_A_ROW = 5

# Where repeated measurements agree better with each other than nights do, they say nothing about what differs between
# nights.  The change must then exceed so many standard deviations of nights.
BETWEEN_NIGHTS = 4.0

# A drift too slow for the band, which follows it: the median of the last nights against that of the first ones, in
# multiples of the smallest change that counts.
CREEP_NIGHTS = 10
CREEP = 2.0


@dataclass(frozen=True)
class Policy:
    """What counts as a change of one measurement.

    relative, absolute: the smallest change that counts, as a share of what is expected and in the metric's unit; the
    larger of the two holds.  usual: the noise assumed before enough nights were seen, in the same two ways.
    """

    relative: float = 0.0
    absolute: float = 0.0
    usual_relative: float = 0.0
    usual_absolute: float = 0.0

    def smallest(self, expected: float) -> float:
        return max(self.relative * abs(expected), self.absolute)

    def usual(self, expected: float) -> float:
        return max(self.usual_relative * abs(expected), self.usual_absolute)


POLICIES: dict[Kind, Policy] = {
    # 4 %: well under half of what must be found within three nights.  3 %: the step times of small networks on a
    # shared machine.
    "time": Policy(relative=0.04, usual_relative=0.03),
    # peak memory: allocators round, and the interpreter's share varies a little
    "memory": Policy(relative=0.03, usual_relative=0.01),
    # a point of accuracy (or 0.01 of a loss) is what a person would look into
    "accuracy": Policy(absolute=0.01, usual_absolute=0.005),
    # iterations are numbers of about 5 to 100; the share of unconverged solutions is usually 0
    "solver": Policy(relative=0.05, absolute=0.01, usual_relative=0.02, usual_absolute=0.005),
}

# The median step of a training over a fixed piece of work: on a busy machine it varied by 15 % between nights of one
# code, and by as much between repetitions, because the two suffer differently from what else is running.
ROUGH_TIME = Policy(relative=0.15, usual_relative=0.08)


def policy_for(measurement: Measurement, minimum_effects: Mapping[Kind, float] | None = None) -> Policy:
    """The policy of a measurement.

    Of an exact measurement any difference counts.  minimum_effects: by kind, from a suite file; a share of what is
    expected, of accuracy a difference.  It replaces the one above, for exact measurements too; of rough ones, the
    larger of the two holds.
    """
    kind = measurement.kind
    own = (minimum_effects or {}).get(kind)
    usual = Policy() if measurement.exact else ROUGH_TIME if measurement.rough else POLICIES[kind]
    if own is None:
        return usual
    if measurement.rough:
        own = max(own, usual.relative)
    share, difference = (0.0, own) if kind == "accuracy" else (own, 0.0)
    return Policy(share, difference, usual.usual_relative, usual.usual_absolute)
