"""Common corruptions of images, at five severities.

Each family has a file; `base.py` holds their base classes, `optics.py` the image processing, `cases.py` parses the
arguments of commands.
"""

from normbench_cli.registry import CORRUPTIONS

__all__ = ["CORRUPTIONS"]
