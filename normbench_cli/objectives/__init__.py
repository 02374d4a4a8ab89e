"""Objectives: what training minimizes, as a function of the losses of a batch's examples."""

from normbench_cli.registry import OBJECTIVES

__all__ = ["OBJECTIVES"]
