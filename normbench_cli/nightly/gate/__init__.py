"""The gate: is last night's value what its history makes one expect?

``band``: what a value is compared with.  ``confirm``: what the repeated measurements of a night say.  ``track``: noisy
measurements, night by night; ``exact``: those that repeat to the last digit.  ``change_point``: since when.
``judge``: what a person reads.  ``policy``: every constant, with its reason.

The simulation behind the constants is in tests/nightly/simulation.py, its results in docs/gate.md.
"""

from normbench_cli.nightly.gate.judge import changes, judge, suspects
from normbench_cli.nightly.gate.policy import REMEASUREMENTS

__all__ = ["REMEASUREMENTS", "changes", "judge", "suspects"]
