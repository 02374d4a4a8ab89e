"""Every constant of the gate, with the reason for its value.  Figures are those of the simulation (docs/gate.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from normbench_cli.nightly.series import Kind, Measurement

# Nights in the band.  Fewer make its width uncertain; with more, the band lags behind a slow drift.
WINDOW = 20

# Nights before the first verdict.  With fewer, one slow night is half of the history.
FEWEST_NIGHTS = 3

# Half-width of the band in robust standard deviations.  It is narrow because leaving it is no alarm: it only
# triggers repeated measurements.  A 10 % slowdown under 3 % noise must leave it on most nights.
BAND = 0.8

# A band of n nights is wider by the factor 1 + (NARROWS / n)^2: neither its center nor its width is known exactly.
NARROWS = 5.0

# Weight of a kind's usual noise beside the observed noise, in nights: the spread of three values alone is too often
# too small by chance.
USUAL_WEIGHT = 5.0

# Repetitions within a night that settle most suspicions, and the maximum on a noisy night.
TYPICAL_REPETITIONS = 9
REMEASUREMENTS = 15

# The first repetitions decide whether the others are worth their time: the median must lie outside the band.  They
# are enough if all deviate by eight half-widths.
FIRST_REMEASUREMENTS = 3
VERY_FAR = 8.0

# A change must exceed this many standard errors, of the night's median and the expected value combined.  With 54
# noisy measurements, 3.6 would give a false alarm in one night in a hundred if the noise were known exactly.
CERTAIN_DEVIATIONS = 4.0

# And this many times the smallest change that counts, to allow for a drift that the band lags behind: several nights
# together, and one night alone.
BEYOND = 1.4
BEYOND_ALONE = 1.6

# Below that the night counts in part: several of the last three nights together must exceed as much.  After such a
# night the next ones are measured again anyway.
NIGHTS_TOGETHER = 3

# The variance of the median of n values over that of one value, times n (normal distribution: pi / 2).
MEDIAN_VARIANCE = 1.57

# The noise of a night is estimated from its repetitions and the usual noise, which counts as this many repetitions.
NOISE_WEIGHT = 6.0

# A night that was measured again weighs more in the expected value, by its smaller variance, up to this factor.
HEAVIEST = 4.0

# The noise between nights counts as larger than that within a night only from this factor on: both are estimates.
# Repetitions do not average out the rest.
SAME_NOISE = 2.0

# A new regression is on trial: measured again every night until the log-likelihood ratio of the raised level to the
# expected one reaches SETTLED.  Below CERTAIN it is over: withdrawn while on trial, gone afterwards.  A
# regression is rare, one in about a thousand measurements and nights, so e^7 only makes it about as likely as not.
SETTLED = 16.0
CERTAIN = 7.0

# The raised level is assumed to be away by at least this many times the smallest change that counts.
LEAST_RAISED = 2.25

# Consecutive nights outside the band that count without any repeated measurement (there was no time for one).
NIGHTS_IN_A_ROW = 5

# Controls whose repetitions deviate by this many half-widths of their band show a disturbed machine.
FAR = 2.4

# A day effect is the common deviation of all times from their last nights.  Fewer times are not enough.  It may be
# twice the usual size of such effects, and never more than 3 %, so that a code change that slows all times is
# detected.
FEWEST_TIMES = 8
USUAL_DAY_EFFECTS = 2.0
LARGEST_DAY_EFFECT = 0.03

# The spread of those deviations shows a noisy night: from this multiple of the usual spread on, which chance alone
# rarely reaches with ten times or more.
NOISY = 1.6

# A drift so slow that the band follows it: the median of the last nights against that of the first ones, in
# multiples of the smallest change that counts.
CREEP_NIGHTS = 10
CREEP = 2.5


@dataclass(frozen=True)
class Policy:
    """What counts as a change of one measurement.

    relative, absolute: the smallest change that counts, as a fraction of the expected value and in the metric's unit;
    the larger applies.  usual: the noise assumed until enough nights are seen, in the same two ways.
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
    # 4 %: well under half of what must be found within three nights.  3 %: step times of small networks on a
    # shared machine.
    "time": Policy(relative=0.04, usual_relative=0.03),
    # peak memory: allocators round, and the interpreter's share varies a little
    "memory": Policy(relative=0.03, usual_relative=0.01),
    # one point of accuracy (or 0.01 of a loss) is what a person would look into
    "accuracy": Policy(absolute=0.01, usual_absolute=0.005),
    # iterations range from about 5 to 100; the fraction of unconverged solutions is usually 0
    "solver": Policy(relative=0.05, absolute=0.01, usual_relative=0.02, usual_absolute=0.005),
}

# The median step of a training over a fixed workload: on a busy machine it varied by 15 % between nights of the same
# code, and by as much between repetitions, because other processes slow the two differently.
ROUGH_TIME = Policy(relative=0.15, usual_relative=0.08)


def policy_for(measurement: Measurement, minimum_effects: Mapping[Kind, float] | None = None) -> Policy:
    """The policy of a measurement.

    For an exact measurement any difference counts.  minimum_effects: by kind, from a suite file; a fraction of the
    expected value, for accuracy a difference.  It replaces the one above, also for exact measurements; for rough ones,
    the larger applies.
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
