"""The gate: is last night's value what its history predicts?

``day_effects``: shifts of a night that all times share.  ``band``: what a value is compared with.  ``evidence``: how
much a night says.  ``track``: noisy measurements, night by night; ``raised``: a regression on trial or settled;
``exact``: measurements that repeat to the last digit.  ``change_point``: since when.  ``judge``: the finding for
people.  ``policy``: every constant, with its reason.

The simulation behind the constants is in tests/nightly/gate/simulation.py, its results in docs/gate.md.
"""

from normbench_cli.nightly.gate.judge import changes, judge, suspects
from normbench_cli.nightly.gate.policy import FIRST_REMEASUREMENTS, REMEASUREMENTS, TYPICAL_REPETITIONS

__all__ = ["FIRST_REMEASUREMENTS", "REMEASUREMENTS", "TYPICAL_REPETITIONS", "changes", "judge", "suspects"]
