"""Ways to disturb a model's input."""

from normbench_cli.registry import ATTACKS

__all__ = ["ATTACKS"]
