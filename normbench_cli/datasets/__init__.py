"""Data sets, one a file."""

from normbench_cli.registry import DATASETS

__all__ = ["DATASETS"]
