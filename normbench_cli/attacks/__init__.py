"""Attacks on a model's input: random noise, and steps that raise the loss."""

from normbench_cli.registry import ATTACKS

__all__ = ["ATTACKS"]
