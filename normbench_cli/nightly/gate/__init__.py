"""The gate: is last night's value what its history makes one expect?

``day_effects``: what a night does to all times alike.  ``band``: what a value is compared with.  ``evidence``: how much
a night says.  ``track``: noisy measurements, night by night; ``raised``: a regression on trial, and one that lasts;
``exact``: measurements that repeat to the last digit.  ``change_point``: since when.  ``judge``: what a person reads.
``policy``: every constant, with its reason.

The simulation behind the constants is in tests/nightly/gate/simulation.py, its results in docs/gate.md.
"""

from normbench_cli.nightly.gate.judge import changes, judge, suspects
from normbench_cli.nightly.gate.policy import REMEASUREMENTS

__all__ = ["REMEASUREMENTS", "changes", "judge", "suspects"]
