"""The known norms of data equal torch's and torch_geometric's and have the right gradients."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

from normbench_cli.errors import UsageError
from normbench_cli.norms import NORMS

SHAPES = [(6, 4), (6, 4, 5), (6, 4, 5, 3), (6, 4, 3, 2, 2)]


def data(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return (3 * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 1).to(dtype)


def assert_equal_layers(ours: nn.Module, theirs: Any, *inputs: Tensor | None) -> None:
    """The same outputs and gradients, with gamma and beta that differ between channels."""
    for layer in (ours, theirs):
        for seed, parameter in enumerate(layer.parameters()):
            parameter.data = data(*parameter.shape, seed=seed)
    results = []
    for layer in (ours, theirs):
        assert inputs[0] is not None
        x = inputs[0].clone().requires_grad_()
        y = layer(x, *inputs[1:])
        y.backward(data(*y.shape, seed=9))
        results.append([y.detach(), x.grad, *(p.grad for p in layer.parameters())])
    torch.testing.assert_close(results[0], results[1], rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("spec", "groups"), [("groupnorm:groups=2", 2), ("groupnorm", 2), ("layernorm", 1)])
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
    (slope,) = torch.autograd.grad(y.sum(), x)
    beta = layer.bias.view(1, 4, *shape[2:]).expand(shape)
    torch.testing.assert_close(y, beta, rtol=0, atol=1e-3)  # torch multiplies first: 300 times the rounding
    assert slope.abs().max() < 1e-3


@pytest.mark.parametrize("norm", ["groupnorm", "popnorm:stats=group"])
@pytest.mark.parametrize(
    ("channels", "used"), [(128, 32), (64, 32), (48, 24), (32, 16), (16, 8), (7, 1), (3, 1), (1, 1)]
)
def test_without_a_number_of_groups_the_largest_with_two_channels_a_group_is_used_and_shown(
    norm: str, channels: int, used: int
) -> None:
    layer = NORMS.build(norm, num_features=channels)
    assert layer.num_groups == used
    assert re.search(rf"(\(|groups=){used}\b", repr(layer))


@pytest.mark.parametrize("norm", ["groupnorm:groups={}", "popnorm:stats=group,groups={}"])
def test_a_number_of_groups_is_used_as_it_is_given_or_refused(norm: str) -> None:
    assert NORMS.build(norm.format(8), num_features=16).num_groups == 8
    for groups in (7, 32):  # 32 is not the default: it was asked for
        with pytest.raises(UsageError, match=f"groups = {groups} does not divide the 16 channels.*1, 2, 4, 8, 16"):
            NORMS.build(norm.format(groups), num_features=16)
    with pytest.raises(UsageError, match="groups is 0; give 1 to"):
        NORMS.build(norm.format(0), num_features=16)


GRAPHS = torch.tensor([0, 0, 1, 0, 1, 2, 2, 2])


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # torch_geometric's import
@pytest.mark.parametrize("batch", [None, GRAPHS], ids=["one graph", "three graphs"])
def test_graphnorm_is_torch_geometrics(batch: Tensor | None) -> None:
    geometric = pytest.importorskip("torch_geometric.nn")
    theirs = geometric.GraphNorm(4, eps=1e-6)  # its own default is 1e-5, the authors' code has 1e-6
    assert_equal_layers(NORMS.build("graphnorm", num_features=4), theirs, data(8, 4), batch)


def test_graphnorm_accepts_the_number_of_graphs_empty_graphs_and_half_precision() -> None:
    layer, x = NORMS.build("graphnorm", num_features=4), data(8, 4)
    torch.testing.assert_close(layer(x, GRAPHS, 5), layer(x, GRAPHS))
    torch.testing.assert_close(layer(x.bfloat16(), GRAPHS, 3).float(), layer(x, GRAPHS), rtol=0.05, atol=0.05)


@pytest.mark.parametrize("spec", ["layernorm", "instancenorm", "groupnorm:groups=2", "graphnorm"])
def test_gradients_of_data_norms_are_right(spec: str) -> None:
    layer = NORMS.build(spec, num_features=4).double()
    inputs = (GRAPHS, 3) if spec == "graphnorm" else ()
    x = data(8, 4, *((3, 2) if not inputs else ()), dtype=torch.float64).requires_grad_()
    shapes = {name: parameter.shape for name, parameter in layer.named_parameters()}
    values = [data(*shape, seed=i, dtype=torch.float64).requires_grad_() for i, shape in enumerate(shapes.values())]

    def run(x: Tensor, *values: Tensor) -> Tensor:
        y: Tensor = functional_call(layer, dict(zip(shapes, values, strict=True)), (x, *inputs))
        return y

    assert torch.autograd.gradcheck(run, (x, *values))


@pytest.mark.parametrize("spec", ["layernorm", "instancenorm", "groupnorm:groups=2", "graphnorm"])
def test_data_norms_compile_without_a_graph_break(spec: str) -> None:
    layer = NORMS.build(spec, num_features=4)
    inputs = (data(8, 4), GRAPHS, 3) if spec == "graphnorm" else (data(6, 4, 5, 3),)
    compiled: Callable[..., Tensor] = torch.compile(copy.deepcopy(layer), fullgraph=True, backend="aot_eager")
    y = compiled(*inputs)
    y.sum().backward()
    torch.testing.assert_close(y, layer(*inputs), rtol=1e-4, atol=1e-5)


def test_graphnorm_refuses_other_features() -> None:
    with pytest.raises(ValueError, match="nodes, 4"):
        NORMS.build("graphnorm", num_features=4)(data(2, 3))


@pytest.mark.parametrize("spec", ["graphnorm", "auggraphnorm"])
def test_a_batch_without_graphs_stays_empty(spec: str) -> None:
    layer = NORMS.build(spec, num_features=4)
    nothing = torch.empty(0, dtype=torch.long)
    assert layer(data(0, 4), nothing).shape == layer(data(0, 4), nothing, 0).shape == layer(data(0, 4)).shape == (0, 4)
