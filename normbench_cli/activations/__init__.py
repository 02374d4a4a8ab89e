"""Activation functions."""

from normbench_cli.registry import ACTIVATIONS

__all__ = ["ACTIVATIONS"]
