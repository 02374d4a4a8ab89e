"""OneDNNLinear equals torch's linear layer in values and gradients for any number of rows, with oneDNN and without."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from normbench_cli import fast_paths
from normbench_cli.device import onednn_is_faster
from normbench_cli.models._blocks import onednn_linear
from normbench_cli.models._blocks.onednn_linear import FEWEST, STRIDE, OneDNNLinear


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """No fast path has been tried, and the processor is one that oneDNN is faster on."""
    monkeypatch.setattr(onednn_linear, "onednn_is_faster", lambda: True)
    monkeypatch.setattr(fast_paths, "_outcomes", {})
    return fast_paths._outcomes


@pytest.fixture
def products(outcomes: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The sizes of the products that oneDNN is asked for, on any processor that has it."""
    if not torch.backends.mkldnn.is_available():
        pytest.skip("this torch is built without oneDNN")
    assert onednn_linear.onednn_works()
    sizes: list[tuple[int, ...]] = []
    linear = onednn_linear.onednn_linear

    def watched(x: Tensor, weight: Tensor) -> Tensor:
        sizes.append((*x.shape, len(weight)))
        return linear(x, weight)

    monkeypatch.setattr(onednn_linear, "onednn_linear", watched)
    return sizes


def values(layer: nn.Module, x: Tensor, weights: Tensor, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """The output for x, and the gradients of its weighted sum."""
    layer, own = layer.to(dtype), x.to(dtype).requires_grad_()
    y = layer(own)
    return [y, *torch.autograd.grad((y * weights.to(dtype)).sum(), [own, *layer.parameters()])]


def copied(layer: nn.Linear) -> nn.Linear:
    """Torch's layer with the same parameters."""
    theirs = nn.Linear(layer.in_features, layer.out_features, bias=layer.bias is not None)
    theirs.load_state_dict(layer.state_dict())
    return theirs


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("inputs", "outputs"), [(64, 64), (7, 64), (64, 3), (1, 1)])
@pytest.mark.parametrize("count", [0, 1, FEWEST - 1, FEWEST, FEWEST + 1, FEWEST + STRIDE - 1, 3371])
def test_equals_the_linear_layer(
    products: list[tuple[int, ...]], count: int, inputs: int, outputs: int, bias: bool
) -> None:
    """No further from the exact product than torch's own: only the order of summation differs."""
    torch.manual_seed(count)
    ours = OneDNNLinear(inputs, outputs, bias=bias)
    x, weights = torch.randn(count, inputs), torch.randn(count, outputs)
    theirs, exact = values(copied(ours), x, weights), values(copied(ours), x, weights, torch.float64)
    found = values(ours, x, weights)
    for own, their, true in zip(found, theirs, exact, strict=True):
        assert own.shape == true.shape
        if true.numel():
            assert (own - true).abs().max() <= 2 * (their - true).abs().max() + 5e-7 * true.abs().max()
    with torch.inference_mode():
        assert torch.equal(ours(x), found[0])
    assert bool(products) == (count >= FEWEST)


def test_few_different_sizes_reach_onednn(products: list[tuple[int, ...]]) -> None:
    """A kernel for each would take longer than the products."""
    layer = OneDNNLinear(8, 8)
    for count in range(2000, 2256):
        layer(torch.randn(count, 8)).sum().backward()
    assert len(set(products)) <= 2 * (256 // STRIDE + 1)


@pytest.mark.parametrize("frozen", ["weight", "input"])
def test_no_gradient_is_computed_for_what_is_frozen(products: list[tuple[int, ...]], frozen: str) -> None:
    layer, x = OneDNNLinear(4, 4, bias=False), torch.randn(FEWEST, 4, requires_grad=frozen != "input")
    layer.weight.requires_grad_(frozen != "weight")
    layer(x).sum().backward()
    assert len(products) == 2
    assert (layer.weight.grad is None) == (frozen == "weight")
    assert (x.grad is None) == (frozen == "input")


def signature_changed(*_: object) -> Tensor:
    raise TypeError("_linear_pointwise() takes 5 positional arguments\nbut 6 were given")


@pytest.mark.parametrize(
    ("operator", "reason"),
    [
        (signature_changed, "TypeError (_linear_pointwise() takes 5 positional arguments)"),
        (lambda x, w: torch.zeros(len(x), len(w)), "ValueError (wrong values)"),
        (lambda x, w: x.bfloat16() @ w.bfloat16().t(), "RuntimeError"),
    ],
    ids=["signature", "values", "dtype"],
)
def test_an_operator_that_has_changed_is_not_used(
    operator: Callable[..., Tensor],
    reason: str,
    outcomes: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(onednn_linear, "onednn_linear", operator)
    ours, x, weights = OneDNNLinear(8, 4), torch.randn(FEWEST, 8), torch.randn(FEWEST, 4)
    for own, their in zip(values(ours, x, weights), values(copied(ours), x, weights), strict=True):
        assert torch.equal(own, their)
    onednn_linear.try_fast_paths()
    said = "linear layers of graphs use torch's product, slower: oneDNN's linear operator failed with"
    assert f"{said} {reason}" in outcomes["oneDNN's linear operator"]
    assert caplog.text.count(said) == 1


@pytest.mark.parametrize(("name", "capability", "faster"), [
    ("AMD EPYC 9965", "AVX512", True),
    ("AMD Ryzen 5 3600", "AVX2", False),
    ("Intel(R) Xeon(R) Gold 6430", "AVX512", False),
])  # fmt: skip
def test_where_onednn_is_faster(monkeypatch: pytest.MonkeyPatch, name: str, capability: str, faster: bool) -> None:
    if not (torch.backends.mkldnn.is_available() and torch.backends.mkl.is_available()):
        pytest.skip("this torch is built without MKL or oneDNN")
    monkeypatch.setattr("normbench_cli.device.compilers.device_name", lambda device: name)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert onednn_is_faster.__wrapped__() == faster


def test_under_autocast_the_precision_does_not_depend_on_the_number_of_rows(products: list[tuple[int, ...]]) -> None:
    layer = OneDNNLinear(4, 4)
    with torch.autocast("cpu", torch.bfloat16):
        assert {layer(torch.randn(count, 4)).dtype for count in (1, FEWEST)} == {torch.bfloat16}
    assert not products
