"""Spectral normalization: the weight divided by its largest singular value."""

from __future__ import annotations

from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

from normbench_cli.norms._weights.filters import filter_axis
from normbench_cli.registry import NORMS
from normbench_cli.registry.bounds import FewCount, NotNegative


@NORMS.register("spectralnorm", aliases=("sn",), paper="Miyato et al. 2018", placement="weight")
def spectralnorm(op: nn.Module, iterations: FewCount = 1, eps: NotNegative = 1e-12) -> nn.Module:
    """Spectral normalization: the operation, as a matrix, stretches no input by more than one.

        w = v / sigma(v)        sigma: largest singular value of v as (filters, the rest)

    Torch's own parametrization: sigma by power iteration, continued in every forward pass of training from vectors kept
    in buffers.  A weight of zeros gives NaN.  <W, dL/dW> = 0 for the layer as a whole, not for each row as
    Lemma 3 of "New Interpretations of Normalization Methods" says (E16).

    op: the convolution or linear layer; changed in place and returned
    iterations: power iterations per forward pass; eps: smallest length of the singular vectors
    """
    return spectral_norm(op, n_power_iterations=iterations, eps=eps, dim=filter_axis(op))
