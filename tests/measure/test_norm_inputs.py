"""The values that layers are called with: all shapes are counted, the first layer of each, or a named one, is kept."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from normbench_cli.measure.norm_inputs import norm_inputs

NETWORK = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2), nn.BatchNorm1d(2))
NORMS = {name: NETWORK.get_submodule(name) for name in ("0", "2", "4")}


def test_shapes_are_counted_and_the_first_of_each_is_kept() -> None:
    x = torch.randn(6, 4)
    seen = norm_inputs(NORMS, lambda: NETWORK(x))
    assert seen.counts == {(6, 4): 2, (6, 2): 1}
    assert seen.first == {(6, 4): "0", (6, 2): "4"}
    assert torch.equal(seen.values[6, 4], x)
    assert seen.values[6, 4].data_ptr() != x.data_ptr()


def test_a_named_layer_is_kept_for_its_shape() -> None:
    x = torch.randn(6, 4)
    seen = norm_inputs(NORMS, lambda: NETWORK(x), "2")
    assert seen.first == {(6, 4): "2", (6, 2): "4"}
    assert not torch.equal(seen.values[6, 4], x)


def test_no_hook_is_left_when_the_network_fails() -> None:
    with pytest.raises(RuntimeError):
        norm_inputs(NORMS, lambda: NETWORK(torch.randn(6, 5)))
    assert not any(module._forward_pre_hooks for module in NORMS.values())
