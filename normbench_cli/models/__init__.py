"""Networks, one a file; each is written once, for all norms and activations."""

from normbench_cli.registry import MODELS

__all__ = ["MODELS"]
