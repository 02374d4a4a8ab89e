"""Learning-rate schedules: functions from training progress, 0 to 1, to a fraction of the peak rate.

One schedule per file.  A schedule takes ``progress`` first; its other parameters are set in a spec,
``cosine:stairs=30``.
"""

from normbench_cli.registry import SCHEDULES

__all__ = ["SCHEDULES"]
