"""Products of many rows are those of torch's linear layer, values and gradients, however many rows there are."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normbench_cli.device import onednn_is_faster
from normbench_cli.models._blocks import onednn_linear
from normbench_cli.models._blocks.onednn_linear import FEWEST, STRIDE, OneDNNLinear


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The sizes that oneDNN is asked for, on any processor that has it."""
    if not torch.backends.mkldnn.is_available():
        pytest.skip("this torch is built without oneDNN")
    sizes: list[tuple[int, ...]] = []
    linear = onednn_linear.onednn_linear

    def watched(x: Tensor, weight: Tensor) -> Tensor:
        sizes.append((*x.shape, len(weight)))
        return linear(x, weight)

    monkeypatch.setattr(onednn_linear, "onednn_is_faster", lambda: True)
    monkeypatch.setattr(onednn_linear, "onednn_linear", watched)
    return sizes


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("inputs", "outputs"), [(64, 64), (7, 64), (64, 3), (1, 1)])
@pytest.mark.parametrize("count", [0, 1, FEWEST - 1, FEWEST, FEWEST + 1, FEWEST + STRIDE - 1, 3371])
def test_equals_the_linear_layer(asked: list[Any], count: int, inputs: int, outputs: int, bias: bool) -> None:
    """No further from the exact product than torch's own: only the order of summation differs."""
    torch.manual_seed(count)
    ours = OneDNNLinear(inputs, outputs, bias=bias)
    x, weights = torch.randn(count, inputs), torch.randn(count, outputs)

    def values(layer: nn.Module, dtype: torch.dtype = torch.float32) -> list[Tensor]:
        layer = layer.to(dtype)
        layer.load_state_dict(ours.state_dict())
        own = x.to(dtype).requires_grad_()
        y = layer(own)
        return [y, *torch.autograd.grad((y * weights.to(dtype)).sum(), [own, *layer.parameters()])]

    found = values(ours)
    exact = values(nn.Linear(inputs, outputs, bias=bias), torch.float64)
    for own, theirs, true in zip(found, values(nn.Linear(inputs, outputs, bias=bias)), exact, strict=True):
        assert own.shape == true.shape
        if true.numel():
            assert (own - true).abs().max() <= 2 * (theirs - true).abs().max() + 5e-7 * true.abs().max()
    with torch.inference_mode():
        assert torch.equal(ours(x), found[0])
    assert bool(asked) == (count >= FEWEST)


def test_sizes_are_few(asked: list[Any]) -> None:
    """A kernel for each would take longer than the products."""
    layer = OneDNNLinear(8, 8)
    for count in range(2000, 2256):
        layer(torch.randn(count, 8)).sum().backward()
    assert len(set(asked)) <= 2 * (256 // STRIDE + 1)


@pytest.mark.parametrize("frozen", ["weight", "input"])
def test_nothing_is_computed_for_what_does_not_learn(asked: list[Any], frozen: str) -> None:
    layer, x = OneDNNLinear(4, 4, bias=False), torch.randn(FEWEST, 4, requires_grad=frozen != "input")
    layer.weight.requires_grad_(frozen != "weight")
    layer(x).sum().backward()
    assert len(asked) == 2
    assert (layer.weight.grad is None) == (frozen == "weight")
    assert (x.grad is None) == (frozen == "input")


@pytest.mark.parametrize(("name", "capability", "faster"), [
    ("AMD EPYC 9965", "AVX512", True),
    ("AMD Ryzen 5 3600", "AVX2", False),
    ("Intel(R) Xeon(R) Gold 6430", "AVX512", False),
])  # fmt: skip
def test_where_onednn_is_faster(monkeypatch: pytest.MonkeyPatch, name: str, capability: str, faster: bool) -> None:
    if not (torch.backends.mkldnn.is_available() and torch.backends.mkl.is_available()):
        pytest.skip("this torch is built without MKL or oneDNN")
    monkeypatch.setattr("normbench_cli.device.device_name", lambda device: name)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert onednn_is_faster.__wrapped__() == faster
