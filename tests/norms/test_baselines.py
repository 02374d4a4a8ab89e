"""The known norms equal torch's and torch_geometric's, have the right gradients, and obey what is proved of them."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.parameter import Parameter
from torch.nn.utils import parametrizations

from normbench_cli.norms import NORMS

SHAPES = [(6, 4), (6, 4, 5), (6, 4, 5, 3), (6, 4, 3, 2, 2)]
WEIGHT_NORMS = ["weightnorm", "cwn", "cwn:learn_scale=true", "ws", "ws:form=paper", "spectralnorm"]
OPERATIONS = {
    "linear": lambda: nn.Linear(5, 6),
    "conv1d": lambda: nn.Conv1d(4, 6, 3),
    "conv": lambda: nn.Conv2d(4, 6, 3),
    "depthwise": lambda: nn.Conv2d(4, 4, 3, groups=4),
    "conv3d": lambda: nn.Conv3d(4, 6, 2),
    "transposed": lambda: nn.ConvTranspose2d(4, 6, 3),
}


def data(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return (3 * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 1).to(dtype)


def assert_equal_layers(ours: nn.Module, theirs: Any, *inputs: Tensor | None) -> None:
    """The same outputs and gradients, with gamma and beta that differ between channels."""
    for layer in (ours, theirs):
        for seed, parameter in enumerate(layer.parameters()):
            parameter.data = data(*parameter.shape, seed=seed)
    results = []
    for layer in (ours, theirs):
        x = inputs[0].clone().requires_grad_()
        y = layer(x, *inputs[1:])
        y.backward(data(*y.shape, seed=9))
        results.append([y.detach(), x.grad, *(p.grad for p in layer.parameters())])
    torch.testing.assert_close(results[0], results[1], rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("spec", "groups"), [("groupnorm:groups=2", 2), ("groupnorm", 4), ("layernorm", 1)])
def test_group_and_layer_norm_are_torchs_group_norm(spec: str, groups: int, shape: tuple[int, ...]) -> None:
    assert_equal_layers(NORMS.build(spec, num_features=4), nn.GroupNorm(groups, 4), data(*shape))


@pytest.mark.parametrize(
    ("shape", "kind"),
    [((6, 4, 5), nn.InstanceNorm1d), ((6, 4, 5, 3), nn.InstanceNorm2d), ((6, 4, 3, 2, 2), nn.InstanceNorm3d)],
)
def test_instance_norm_is_torchs(shape: tuple[int, ...], kind: type[Any]) -> None:
    assert_equal_layers(NORMS.build("instancenorm", num_features=4), kind(4, affine=True), data(*shape))


@pytest.mark.parametrize("shape", [(6, 4), (1, 4), (1, 4, 1, 1)], ids=str)
def test_an_instance_of_one_value_gives_beta(shape: tuple[int, ...]) -> None:
    layer = NORMS.build("instancenorm", num_features=4)
    layer.bias.data = data(4)
    x = data(*shape).requires_grad_()
    y = layer(x)
    y.sum().backward()
    beta = layer.bias.view(1, 4, *shape[2:]).expand(shape)
    torch.testing.assert_close(y, beta, rtol=0, atol=1e-3)  # torch multiplies first: 300 times the rounding
    assert x.grad.abs().max() < 1e-3


@pytest.mark.parametrize(("channels", "groups", "used"), [(64, 32, 32), (48, 32, 24), (7, 32, 7), (4, 3, 2)])
def test_groups_are_the_largest_number_that_divides_the_channels(channels: int, groups: int, used: int) -> None:
    assert NORMS.build("gn", num_features=channels, groups=groups).num_groups == used


GRAPHS = torch.tensor([0, 0, 1, 0, 1, 2, 2, 2])


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # torch_geometric's import
@pytest.mark.parametrize("batch", [None, GRAPHS], ids=["one graph", "three graphs"])
def test_graphnorm_is_torch_geometrics(batch: Tensor | None) -> None:
    from torch_geometric.nn import GraphNorm

    theirs = GraphNorm(4, eps=1e-6)  # its own default is 1e-5, the authors' code has 1e-6
    assert_equal_layers(NORMS.build("graphnorm", num_features=4), theirs, data(8, 4), batch)


def test_graphnorm_knows_the_number_of_graphs_or_looks_and_takes_empty_ones() -> None:
    layer, x = NORMS.build("graphnorm", num_features=4), data(8, 4)
    torch.testing.assert_close(layer(x, GRAPHS, 5), layer(x, GRAPHS))
    torch.testing.assert_close(layer(x.bfloat16(), GRAPHS, 3).float(), layer(x, GRAPHS), rtol=0.05, atol=0.05)


@pytest.mark.parametrize("kind", OPERATIONS)
def test_weightnorm_and_spectralnorm_are_torchs(kind: str) -> None:
    op, axis = OPERATIONS[kind](), 1 if kind == "transposed" else 0
    ours = NORMS.build("wn", op=copy.deepcopy(op)).parametrizations.weight
    theirs = parametrizations.weight_norm(copy.deepcopy(op), dim=axis).parametrizations.weight
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
def test_weight_norms_copy_load_compile_and_need_no_device(spec: str, kind: str) -> None:
    op = NORMS.build(spec, op=OPERATIONS[kind]()).eval()
    loaded = NORMS.build(spec, op=OPERATIONS[kind]()).eval()
    loaded.load_state_dict(op.state_dict())
    torch.testing.assert_close(loaded.weight, op.weight)
    torch.testing.assert_close(copy.deepcopy(op).weight, op.weight)
    with torch.device("meta"):
        NORMS.build(spec, op=OPERATIONS[kind]()).weight.sum().backward()


@pytest.mark.parametrize("spec", [*WEIGHT_NORMS, "layernorm", "instancenorm", "groupnorm:groups=2", "graphnorm"])
def test_compiles_without_a_graph_break(spec: str) -> None:
    if NORMS.parse(spec).entry.facts.placement == "weight":
        layer, inputs = NORMS.build(spec, op=nn.Linear(4, 3)), (data(6, 4),)
    elif spec == "graphnorm":
        layer, inputs = NORMS.build(spec, num_features=4), (data(8, 4), GRAPHS, 3)
    else:
        layer, inputs = NORMS.build(spec, num_features=4), (data(6, 4, 5, 3),)
    compiled = torch.compile(copy.deepcopy(layer), fullgraph=True, backend="aot_eager")
    y = compiled(*inputs)
    y.sum().backward()
    torch.testing.assert_close(y, layer(*inputs), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("spec", ["layernorm", "instancenorm", "groupnorm:groups=2", "graphnorm"])
def test_gradients_of_data_norms_are_right(spec: str) -> None:
    layer = NORMS.build(spec, num_features=4).double()
    inputs = (GRAPHS, 3) if spec == "graphnorm" else ()
    x = data(8, 4, *((3, 2) if not inputs else ()), dtype=torch.float64).requires_grad_()
    names, values = zip(*layer.named_parameters(), strict=True)
    values = [data(*v.shape, seed=i, dtype=torch.float64).requires_grad_() for i, v in enumerate(values)]

    def run(x: Tensor, *values: Tensor) -> Tensor:
        return functional_call(layer, dict(zip(names, values, strict=True)), (x, *inputs))

    assert torch.autograd.gradcheck(run, (x, *values))


@pytest.mark.parametrize("spec", WEIGHT_NORMS)
def test_gradients_of_weight_norms_are_right(spec: str) -> None:
    stored = NORMS.build(spec, op=nn.Conv2d(2, 3, 2).double()).eval().parametrizations.weight
    names, values = zip(*stored.named_parameters(), strict=True)

    def run(*values: Parameter) -> Tensor:
        return functional_call(stored, dict(zip(names, values, strict=True)), ())

    assert torch.autograd.gradcheck(run, values)


def filters(spec: str, op: nn.Conv2d) -> Tensor:
    return NORMS.build(spec, op=copy.deepcopy(op)).weight.detach().flatten(1)


def test_standardized_filters_are_centred_ones_times_the_root_of_their_size() -> None:
    op = nn.Conv2d(3, 6, 3).double()  # 27 values a filter
    n, centred = 27, filters("cwn:scale=1", op)
    torch.testing.assert_close(filters("ws", op), (n - 1) ** 0.5 * centred, rtol=1e-3, atol=0)
    torch.testing.assert_close(filters("ws:form=paper", op), n**0.5 * centred, rtol=1e-3, atol=0)
    torch.testing.assert_close(filters("ws", op).std(1), torch.ones(6).double(), rtol=1e-3, atol=0)
    torch.testing.assert_close(filters("cwn", op).norm(dim=1), torch.full((6,), 1.414).double(), rtol=1e-3, atol=0)
    torch.testing.assert_close(filters("cwn", op).mean(1), torch.zeros(6).double())


def row_products(norm: str | None, weight_norm: str | None = None) -> Tensor:
    """<W_i, dL/dW_i> for each row of a linear operation with a norm behind it or on its weight, over the size of the
    two; L is anything."""
    torch.manual_seed(3)
    op = nn.Linear(5, 6, bias=False).double()
    net = nn.Sequential(NORMS.build(weight_norm, op=op).eval() if weight_norm else op)
    if norm:
        net.append(NORMS.build(norm, num_features=6, eps=1e-12).double())
    x = data(8, 7, 5, dtype=torch.float64)
    y = net[0](x).movedim(-1, 1)  # features second: (8, 6, 7)
    y = net[1](y) if norm else y
    (y * data(*y.shape, seed=1, dtype=torch.float64)).sum().backward()
    stored = op.parametrizations.weight if weight_norm else None
    weight = op.weight if stored is None else stored.original1 if weight_norm == "wn" else stored.original
    return (weight * weight.grad).sum(1).detach() / (weight.norm() * weight.grad.norm()).detach()


@pytest.mark.parametrize(
    ("norm", "weight_norm"),
    [("batchnorm", None), ("instancenorm", None), (None, "wn"), (None, "cwn"), (None, "ws:form=paper")],
)
def test_each_row_is_orthogonal_to_its_gradient(norm: str | None, weight_norm: str | None) -> None:
    assert row_products(norm, weight_norm).abs().max() < (1e-3 if weight_norm == "cwn" else 1e-8)  # cwn adds 1e-5


@pytest.mark.parametrize(
    ("norm", "weight_norm"), [("layernorm", None), ("groupnorm:groups=2", None), (None, "spectralnorm")]
)
def test_for_these_only_the_whole_layer_is_orthogonal(norm: str | None, weight_norm: str | None) -> None:
    products = row_products(norm, weight_norm)
    assert products.abs().max() > 1e-3
    assert products.sum().abs() < 1e-8
    if norm == "groupnorm:groups=2":
        assert products.view(2, 3).sum(1).abs().max() < 1e-8


@pytest.mark.parametrize(
    ("spec", "op", "says"),
    [
        ("wn", nn.ReLU(), "a convolution or a linear layer"),
        ("ws", nn.ConvTranspose2d(4, 4, 3, groups=2), "groups=1"),
        ("cwn:scale=0", nn.Linear(2, 2), "above 0"),
    ],
)
def test_wrong_arguments_are_one_clear_sentence(spec: str, op: nn.Module, says: str) -> None:
    with pytest.raises(Exception, match=says):
        NORMS.build(spec, op=op)
    with pytest.raises(Exception, match="at least one group"):
        NORMS.build("groupnorm:groups=0", num_features=4)
    with pytest.raises(ValueError, match="nodes, 4"):
        NORMS.build("graphnorm", num_features=4)(data(2, 3))
