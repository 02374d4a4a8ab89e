"""Pruning channels of a trained network by the gamma and beta of its norms, without retraining.

A norm gives its channel the mean beta and the standard deviation |gamma|.  Channels of all norms are ranked together by

    gamma    |gamma| (Liu et al., Learning Efficient Convolutional Networks through Network Slimming, 2017)
    alive    E |act'(z)| for z ~ N(beta, gamma^2): with ReLU the share of nonzero values in the channel, as remarked in
             "New Interpretations of Normalization Methods"
    random   a control

The norm's output is zero in pruned channels, since their gamma and beta are set to zero.  Norms of the network's input
have no channels to prune.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeGuard

import torch
from torch import Tensor, nn

from normbench_cli.model_state import preserve_state
from normbench_cli.operations import Operation

POINTS = 512  # equiprobable values of z


class Affine(Protocol):
    """A norm with gamma and beta, one value per channel each."""

    weight: nn.Parameter
    bias: nn.Parameter

    def __call__(self, x: Tensor, /) -> Tensor: ...


def norms_with_channels(model: nn.Module, inputs: Tensor) -> list[Affine]:
    """The norms with gamma and beta, in forward order, except those before the first operation."""
    called: list[nn.Module] = []
    hooks = [
        module.register_forward_pre_hook(lambda module, _: called.append(module))
        for module in model.modules()
        if is_observed(module)
    ]
    try:
        with preserve_state(model, inputs.device), torch.no_grad():
            model.eval()(inputs)
    finally:
        for hook in hooks:
            hook.remove()
    first = next((place for place, module in enumerate(called) if isinstance(module, Operation)), len(called))
    return list(dict.fromkeys(module for module in called[first:] if has_gamma_and_beta(module)))


def is_observed(module: nn.Module) -> bool:
    return isinstance(module, Operation) or has_gamma_and_beta(module)


def has_gamma_and_beta(module: nn.Module) -> TypeGuard[Affine]:
    """Whether the module has a weight and a bias with one value per channel each."""
    parameters = (getattr(module, name, None) for name in ("weight", "bias"))
    return not isinstance(module, Operation) and all(isinstance(p, nn.Parameter) and p.dim() == 1 for p in parameters)


def gammas_and_betas(norms: Sequence[Affine]) -> tuple[Tensor, Tensor]:
    """Gammas and betas of all norms' channels, concatenated."""
    gamma, beta = ([getattr(norm, name).detach() for norm in norms] for name in ("weight", "bias"))
    return torch.cat(gamma).float(), torch.cat(beta).float()


def share_alive(gamma: Tensor, beta: Tensor, act: nn.Module) -> Tensor:
    """E |act'(z)| for z ~ N(beta, gamma^2), per channel."""
    quantiles = (torch.arange(POINTS, device=gamma.device) + 0.5) / POINTS
    z = (beta[:, None] + gamma[:, None] * torch.special.ndtri(quantiles)).requires_grad_()
    with torch.enable_grad():
        (slope,) = torch.autograd.grad(act(z + 0).sum(), z)  # an in-place activation needs its own copy
    alive: Tensor = slope.abs().mean(1)
    return alive


def kept_channels(scores: Tensor, keep: float) -> Tensor:
    """Which channels to keep, bool (C): the share `keep` with the highest scores, rounded to whole channels; of ties
    the first."""
    count = math.floor(keep * len(scores) + 0.5)
    kept = torch.zeros(len(scores), dtype=torch.bool, device=scores.device)
    kept[scores.argsort(descending=True, stable=True)[:count]] = True
    return kept


@contextmanager
def pruned(norms: Sequence[Affine], kept: Tensor) -> Iterator[None]:
    """Within the block, gamma and beta are zero in all channels but those kept; then they are restored exactly."""
    parameters = [parameter for norm in norms for parameter in (norm.weight, norm.bias)]
    before = [parameter.detach().clone() for parameter in parameters]
    masks = [mask for part in kept.split([len(norm.weight) for norm in norms]) for mask in (part, part)]
    try:
        with torch.no_grad():
            for parameter, mask in zip(parameters, masks, strict=True):
                parameter.masked_fill_(~mask, 0)
        yield
    finally:
        with torch.no_grad():
            for parameter, value in zip(parameters, before, strict=True):
                parameter.copy_(value)
