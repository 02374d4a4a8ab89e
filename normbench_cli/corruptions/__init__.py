"""Common corruptions of images, at five severities.

Each family is a file; `base.py` holds what they share, `optics.py` the image processing, `cases.py` what a command asks
for.
"""

from normbench_cli.registry import CORRUPTIONS

__all__ = ["CORRUPTIONS"]
