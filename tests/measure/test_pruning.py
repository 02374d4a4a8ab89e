"""Pruning by gamma and beta: exact shares, nothing changed by keeping all, nothing left by keeping none."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from normbench_cli.measure.pruning import (
    gammas_and_betas,
    has_gamma_and_beta,
    kept_channels,
    norms_with_channels,
    pruned,
    share_alive,
)
from normbench_cli.registry import ACTIVATIONS, MODELS

SCORES = st.lists(st.floats(-5, 5), min_size=1, max_size=60)


def network(norm: str = "batchnorm", act: str = "relu") -> nn.Module:
    """A perceptron whose gammas and betas are drawn, in evaluation."""
    torch.manual_seed(0)
    model: nn.Module = MODELS.build("mlp:width=8,depth=3,size=4", norm=norm, act=act, num_classes=5, in_channels=1)
    for module in model.modules():
        if has_gamma_and_beta(module):
            nn.init.normal_(module.weight)
            nn.init.normal_(module.bias)
    return model.eval()


IMAGES = torch.randn(32, 1, 4, 4, generator=torch.Generator().manual_seed(1))


@given(SCORES, st.floats(0, 1))
def test_the_share_kept_is_exact_and_those_kept_have_the_highest_scores(scores: list[float], keep: float) -> None:
    given_scores = torch.tensor(scores)
    kept = kept_channels(given_scores, keep)
    assert int(kept.sum()) == math.floor(keep * len(scores) + 0.5)
    assert abs(int(kept.sum()) - keep * len(scores)) <= 0.5 + 1e-9
    if kept.any() and not kept.all():
        assert given_scores[kept].min() >= given_scores[~kept].max()


@pytest.mark.parametrize("norm", ["batchnorm", "layernorm", "groupnorm:groups=2", "popnorm", "augnorm", "diffphi"])
def test_keeping_all_changes_nothing_keeping_none_leaves_one_answer_and_afterwards_all_is_as_before(norm: str) -> None:
    model = network(norm)
    with torch.no_grad():
        before = model(IMAGES)
        norms = norms_with_channels(model, IMAGES)
        assert len(norms) == 3
        channels = sum(len(one.weight) for one in norms)
        with pruned(norms, torch.ones(channels, dtype=torch.bool)):
            assert torch.equal(model(IMAGES), before)
        with pruned(norms, torch.zeros(channels, dtype=torch.bool)):
            nothing = model(IMAGES)
        assert torch.equal(nothing, nothing[:1].expand_as(nothing))  # whatever the image: the share of one class
        assert torch.equal(model(IMAGES), before)


@settings(max_examples=20)
@given(st.integers(0, 2**24 - 1))
def test_a_channel_that_is_pruned_leaves_its_norm_as_zero_and_the_others_as_they_were(bits: int) -> None:
    model = network()
    norms = norms_with_channels(model, IMAGES)
    kept = torch.tensor([bool(bits >> channel & 1) for channel in range(24)])
    values = torch.randn(6, 8)
    with torch.no_grad(), pruned(norms, kept):
        outputs = [norm(values) for norm in norms]
    for output, norm, mask in zip(outputs, norms, kept.split(8), strict=True):
        assert torch.equal(output, norm(values).detach() * mask)


def test_a_norm_of_the_images_themselves_has_no_channels_to_prune() -> None:
    """POP-Norm stands before the first operation, too, and before the classifier."""
    assert [len(norm.weight) for norm in norms_with_channels(network("popnorm"), IMAGES)] == [8, 8, 8]
    assert [len(norm.weight) for norm in norms_with_channels(network("batchnorm"), IMAGES)] == [8, 8, 8]
    assert norms_with_channels(network("none"), IMAGES) == []


@settings(max_examples=20)
@given(st.floats(-3, 3), st.floats(0.01, 3))
def test_the_share_alive_of_relu_is_that_of_the_positive_values(beta: float, gamma: float) -> None:
    expected = torch.special.ndtr(torch.tensor(beta / gamma)).item()
    for sign in (1, -1):
        found = share_alive(torch.tensor([sign * gamma]), torch.tensor([beta]), nn.ReLU(inplace=True)).item()
        assert found == pytest.approx(expected, abs=1 / 512)


@pytest.mark.parametrize("act", ["sigmoid", "tanh", "identity", "gelu"])
def test_the_share_alive_is_a_mean_slope(act: str) -> None:
    """A channel deep in a flat part of the activation has less of it; of the identity all is alive."""
    found = share_alive(torch.tensor([0.1, 0.1]), torch.tensor([0.5, -12.0]), ACTIVATIONS.build(act))
    assert found.isfinite().all()
    assert bool(found[0] > found[1]) or (act == "identity" and torch.equal(found, torch.ones(2)))


def test_gammas_and_betas_are_those_of_all_norms_in_order() -> None:
    model = network()
    norms = norms_with_channels(model, IMAGES)
    gamma, beta = gammas_and_betas(norms)
    assert torch.equal(gamma, torch.cat([norm.weight.detach() for norm in norms]))
    assert torch.equal(beta[8:16], norms[1].bias.detach())
