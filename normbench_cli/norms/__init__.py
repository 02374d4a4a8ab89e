"""Normalization layers, one a file."""

from normbench_cli.registry import NORMS

__all__ = ["NORMS"]
