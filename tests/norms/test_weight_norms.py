"""The norms of weights equal torch's, have the right gradients, and obey what is proved of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.parameter import Parameter
from torch.nn.utils import parametrizations

from normbench_cli.errors import UsageError
from normbench_cli.norms import NORMS

WEIGHT_NORMS = ["weightnorm", "cwn", "cwn:learn_scale=true", "ws", "ws:form=paper", "spectralnorm"]
OPERATIONS: dict[str, Callable[[], nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d | nn.ConvTranspose2d]] = {
    "linear": lambda: nn.Linear(5, 6),
    "conv1d": lambda: nn.Conv1d(4, 6, 3),
    "conv": lambda: nn.Conv2d(4, 6, 3),
    "depthwise": lambda: nn.Conv2d(4, 4, 3, groups=4),
    "conv3d": lambda: nn.Conv3d(4, 6, 2),
    "transposed": lambda: nn.ConvTranspose2d(4, 6, 3),
}

RAW_WEIGHTS = ["parametrizations.weight.original1", "parametrizations.weight.original", "weight"]  # v of g v / ||v||


def data(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return (3 * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 1).to(dtype)


@pytest.mark.parametrize("kind", OPERATIONS)
def test_weightnorm_and_spectralnorm_are_torchs(kind: str) -> None:
    op, axis = OPERATIONS[kind](), 1 if kind == "transposed" else 0
    ours = NORMS.build("wn", op=copy.deepcopy(op)).parametrizations.weight
    reference: Any = parametrizations.weight_norm(copy.deepcopy(op), dim=axis)
    theirs = reference.parametrizations.weight
    for stored in (ours, theirs):
        stored.original0.data = stored.original0.data * 1.5 + 0.1
        stored().square().mul(data(*op.weight.shape)).sum().backward()
    torch.testing.assert_close(ours(), theirs())
    torch.testing.assert_close(ours.original0.grad, theirs.original0.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(ours.original1.grad, theirs.original1.grad, rtol=1e-4, atol=1e-4)
    torch.manual_seed(0)
    ours = NORMS.build("sn", op=copy.deepcopy(op))
    torch.manual_seed(0)
    theirs = parametrizations.spectral_norm(copy.deepcopy(op), dim=axis)
    torch.testing.assert_close(ours.weight, theirs.weight)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("spec", [spec for spec in WEIGHT_NORMS if spec != "spectralnorm"])
def test_filters_of_zeros_give_no_nan(spec: str, dtype: torch.dtype) -> None:
    op = nn.Linear(5, 6).to(dtype)
    op.weight.data[:2] = 0
    wrapped = NORMS.build(spec, op=op)
    wrapped.weight.float().square().sum().backward()
    assert not wrapped.weight[:2].any()
    assert wrapped.weight.dtype == dtype
    assert all(p.grad.isfinite().all() for name, p in wrapped.named_parameters() if "weight" in name)


@pytest.mark.parametrize("kind", OPERATIONS)
@pytest.mark.parametrize("spec", WEIGHT_NORMS)
def test_weight_norms_copy_load_and_build_without_a_device(spec: str, kind: str) -> None:
    op = NORMS.build(spec, op=OPERATIONS[kind]()).eval()
    loaded = NORMS.build(spec, op=OPERATIONS[kind]()).eval()
    loaded.load_state_dict(op.state_dict())
    torch.testing.assert_close(loaded.weight, op.weight)
    torch.testing.assert_close(copy.deepcopy(op).weight, op.weight)
    with torch.device("meta"):
        NORMS.build(spec, op=OPERATIONS[kind]()).weight.sum().backward()


@pytest.mark.parametrize("spec", WEIGHT_NORMS)
def test_gradients_of_weight_norms_are_right(spec: str) -> None:
    stored = NORMS.build(spec, op=nn.Conv2d(2, 3, 2).double()).eval().parametrizations.weight
    parameters: dict[str, Parameter] = dict(stored.named_parameters())

    def run(*values: Tensor) -> Tensor:
        weight: Tensor = functional_call(stored, dict(zip(parameters, values, strict=True)), ())
        return weight

    assert torch.autograd.gradcheck(run, list(parameters.values()))


def filters(spec: str, op: nn.Conv2d) -> Tensor:
    weight: Tensor = NORMS.build(spec, op=copy.deepcopy(op)).weight
    return weight.detach().flatten(1)


def test_weight_standardization_is_centered_weight_norm_times_the_root_of_the_filter_size() -> None:
    op = nn.Conv2d(3, 6, 3).double()  # 27 values a filter
    n, centered = 27, filters("cwn:scale=1", op)
    torch.testing.assert_close(filters("ws", op), (n - 1) ** 0.5 * centered, rtol=1e-3, atol=0)
    torch.testing.assert_close(filters("ws:form=paper", op), n**0.5 * centered, rtol=1e-3, atol=0)
    torch.testing.assert_close(filters("ws", op).std(1), torch.ones(6).double(), rtol=1e-3, atol=0)
    torch.testing.assert_close(filters("cwn", op).norm(dim=1), torch.full((6,), 1.414).double(), rtol=1e-3, atol=0)
    torch.testing.assert_close(filters("cwn", op).mean(1), torch.zeros(6).double())


def row_products(norm: str | None, weight_norm: str | None = None) -> Tensor:
    """<W_i, dL/dW_i> for each row of a linear operation with a norm behind it or on its weight, over the size of the
    two; L is anything."""
    torch.manual_seed(3)
    op = nn.Linear(5, 6, bias=False).double()
    if weight_norm:
        NORMS.build(weight_norm, op=op).eval()
    layer = NORMS.build(norm, num_features=6, eps=1e-12).double() if norm else nn.Identity()
    y = layer(op(data(8, 7, 5, dtype=torch.float64)).movedim(-1, 1))  # features second: (8, 6, 7)
    raw = dict(op.named_parameters())
    weight = next(raw[key] for key in RAW_WEIGHTS if key in raw)
    (slope,) = torch.autograd.grad((y * data(*y.shape, seed=1, dtype=torch.float64)).sum(), weight)
    products: Tensor = (weight * slope).sum(1) / (weight.norm() * slope.norm())
    return products.detach()


@pytest.mark.parametrize(
    ("norm", "weight_norm"),
    [("batchnorm", None), ("instancenorm", None), (None, "wn"), (None, "cwn"), (None, "ws:form=paper")],
)
def test_each_row_is_orthogonal_to_its_gradient(norm: str | None, weight_norm: str | None) -> None:
    assert row_products(norm, weight_norm).abs().max() < (1e-3 if weight_norm == "cwn" else 1e-8)  # cwn adds 1e-5


@pytest.mark.parametrize(
    ("norm", "weight_norm"), [("layernorm", None), ("groupnorm:groups=2", None), (None, "spectralnorm")]
)
def test_only_the_whole_layer_is_orthogonal_to_its_gradient(norm: str | None, weight_norm: str | None) -> None:
    products = row_products(norm, weight_norm)
    assert products.abs().max() > 1e-3
    assert products.sum().abs() < 1e-8
    if norm == "groupnorm:groups=2":
        assert products.view(2, 3).sum(1).abs().max() < 1e-8


@pytest.mark.parametrize("spec", WEIGHT_NORMS)
def test_weight_norms_compile_without_a_graph_break(spec: str) -> None:
    op, x = NORMS.build(spec, op=nn.Linear(4, 3)), data(6, 4)
    compiled: Callable[..., Tensor] = torch.compile(copy.deepcopy(op), fullgraph=True, backend="aot_eager")
    y = compiled(x)
    y.sum().backward()
    torch.testing.assert_close(y, op(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("spec", "op", "says"),
    [
        ("wn", nn.ReLU(), "a convolution or a linear layer"),
        ("ws", nn.ConvTranspose2d(4, 4, 3, groups=2), "groups=1"),
        ("cwn:scale=0", nn.Linear(2, 2), "above 0"),
    ],
)
def test_operations_and_arguments_that_do_not_fit_are_refused(spec: str, op: nn.Module, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        NORMS.build(spec, op=op)
