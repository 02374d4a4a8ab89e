"""What training minimizes, from the losses of single samples."""

from normbench_cli.registry import OBJECTIVES

__all__ = ["OBJECTIVES"]
