"""Learning-rate schedules: functions of the training's progress, from 0 to 1, to a factor of the largest rate.

One schedule a file.  A schedule takes ``progress`` first; its other parameters are set in a spec, ``cosine:stairs=30``.
"""

from normbench_cli.registry import SCHEDULES

__all__ = ["SCHEDULES"]
