"""Common corruptions of images, at five severities."""

from normbench_cli.registry import CORRUPTIONS

__all__ = ["CORRUPTIONS"]
