"""Normalization layers, one a file, and `convert`, which puts them into any model."""

from normbench_cli.norms._convert.convert import convert
from normbench_cli.registry import NORMS

__all__ = ["NORMS", "convert"]
