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
BAND = 0.8

# A band of n nights is wider by the factor 1 + (NARROWS / n)^2: neither its middle nor its width is known exactly.
NARROWS = 5.0

# So many nights' weight has the usual noise of a kind beside the noise that was seen: the spread of three values alone
# is too often too small by chance.
USUAL_WEIGHT = 5.0

# Repeated measurements of a night that settle most suspicions, and how many there are at most on a noisy night.
ENOUGH = 9
REMEASUREMENTS = 15

# The first repetitions decide whether the others are worth their time: the median must lie outside of the band.  They
# are enough if all lie outside by eight times half its width.
FIRST_REMEASUREMENTS = 3
VERY_FAR = 8.0

# A change must exceed so many standard deviations of chance: of the night's median and of what is expected.  With 54
# noisy measurements one night in a hundred would have a false alarm by chance at 3.6 if the noise were known exactly.
CERTAIN_DEVIATIONS = 4.0

# And so many times the smallest change that counts, so that what is expected may be off by a drift that the band lags
# behind: several nights together, and one night alone.
BEYOND = 1.4
BEYOND_ALONE = 1.6

# With fewer the night counts in part: several of the last three nights together must exceed as much.  After such a
# night the next ones are measured again anyway.
NIGHTS_TOGETHER = 3

# The variance of a median over that of one value, times their number (of a normal distribution: pi / 2).
MEDIAN_VARIANCE = 1.57

# The noise of a night is estimated from its repetitions, and from the usual noise as if so many more had shown it.
NOISE_WEIGHT = 6.0

# A night that was measured again weighs more in what is expected, by its smaller variance, up to this.
HEAVIEST = 4.0

# Nights differ by more than repetitions within a night only where their noise exceeds it by this factor: both are
# estimates.  The rest is not averaged out by repetitions.
SAME_NOISE = 2.0

# A new regression is on trial: measured again every night until the log-likelihood ratio of the raised level to the
# expected one reaches SETTLED.  Below CERTAIN it is over: withdrawn while on trial, gone afterwards.  A
# regression is rare, one in some thousand measurements and nights, so that e^7 only makes it about as likely as not.
SETTLED = 16.0
CERTAIN = 7.0

# The raised level is thought to be at least so many times the smallest change that counts away.
LEAST_RAISED = 2.25

# Nights in a row outside of the band that count without any repeated measurement (there was no time for them).
NIGHTS_IN_A_ROW = 5

# Controls whose repetitions lie so many times as far out as the edge of their band show a disturbed machine.
FAR = 2.4

# What a night does to all times alike is their common deviation from their last nights.  Fewer times do not tell.  It
# may be twice what such effects usually are, and never more than 3 %, so that a change of the code that slows all
# times is seen.
FEWEST_TIMES = 8
USUAL_DAY_EFFECTS = 2.0
LARGEST_DAY_EFFECT = 0.03

# The spread of those deviations shows a noisy night: from so many times the usual spread on, which chance alone rarely
# reaches with ten times or more.
NOISY = 1.6

# A drift too slow for the band, which follows it: the median of the last nights against that of the first ones, in
# multiples of the smallest change that counts.
CREEP_NIGHTS = 10
CREEP = 2.5


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
