"""The generalized geometric median as a function: `generalized_median(x, phi, dim=0)`, differentiable in x and phi."""

from normbench_cli.norms._ggm.median import generalized_median

__all__ = ["generalized_median"]
