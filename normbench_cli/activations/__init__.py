"""Activation functions, by the names that torch and timm users expect."""

from normbench_cli.registry import ACTIVATIONS

__all__ = ["ACTIVATIONS"]
