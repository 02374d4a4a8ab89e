"""Graph networks: their layers against torch_geometric and dense formulas, every norm, the smallest graphs."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normbench_cli.datasets._graphs.dataset import GraphDataset, make_graph_dataset
from normbench_cli.datasets._graphs.loader import GraphBatch
from normbench_cli.errors import UsageError
from normbench_cli.models import MODELS, LayerFactory
from normbench_cli.models._blocks.graph import Dropout, PerGraph, PerNode
from normbench_cli.models.gcn import GraphConvolution
from normbench_cli.models.gin import NeighborSum
from normbench_cli.norms import NORMS

GRAPH_MODELS = [name for name, entry in MODELS.entries.items() if entry.facts.graphs]
DEGENERATE = ("instancenorm",)  # its statistics are over positions, of which a node has one
FITTING = [name for name in NORMS.choices() if name not in DEGENERATE]


def toy(
    edges: Any = ((0, 1), (1, 2), (4, 5), (5, 6), (4, 6)),
    graph: list[int] | tuple[int, ...] = (0, 0, 0, 1, 2, 2, 2, 2),
    tags: list[int] | tuple[int, ...] = (0, 1, 2, 0, 1, 0, 2, 1),
) -> GraphDataset:
    """A path, a single node, and a triangle with an isolated node."""
    pairs = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T
    return make_graph_dataset(
        "TOY", "here", list(tags), pairs, list(graph), [number % 2 for number in range(max(graph) + 1)]
    )


def batch_of(data: GraphDataset) -> GraphBatch:
    return data.to(torch.device("cpu")).batch(torch.arange(len(data)))[0]


@pytest.fixture(scope="module")
def geometric() -> Any:
    """torch_geometric's layers, if it is installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its import uses functions that torch has deprecated
        return pytest.importorskip("torch_geometric.nn")


def graph_convolution(inputs: int, outputs: int) -> tuple[GraphConvolution, Tensor, Tensor]:
    """One with random values, its weight and its bias."""
    linear = nn.Linear(inputs, outputs, bias=False)
    convolution = GraphConvolution(linear, inputs, outputs, bias=True)
    assert convolution.bias is not None
    nn.init.normal_(convolution.bias)
    return convolution, linear.weight, convolution.bias


@pytest.mark.parametrize(("inputs", "outputs"), [(3, 16), (16, 3), (5, 5)])
def test_graph_convolution_equals_the_dense_formula(inputs: int, outputs: int) -> None:
    batch, x = batch_of(toy()), torch.randn(8, inputs)
    convolution, weight, bias = graph_convolution(inputs, outputs)
    expected = batch.normalized_adjacency.to_dense() @ x @ weight.T + bias
    torch.testing.assert_close(convolution(x, batch), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("inputs", "outputs"), [(3, 16), (16, 3), (5, 5)])
def test_graph_convolution_equals_gcnconv(geometric: Any, inputs: int, outputs: int) -> None:
    data, x = toy(), torch.randn(8, inputs, requires_grad=True)
    ours, weight, bias = graph_convolution(inputs, outputs)
    theirs = geometric.GCNConv(inputs, outputs)
    theirs.load_state_dict({"bias": bias, "lin.weight": weight})
    y, expected = ours(x, batch_of(data)), theirs(x, data.edge_index)
    torch.testing.assert_close(y, expected, rtol=1e-6, atol=1e-6)
    factors = torch.randn_like(y)
    for found, reference in zip(
        torch.autograd.grad((y * factors).sum(), [x, weight, bias]),
        torch.autograd.grad((expected * factors).sum(), [x, theirs.lin.weight, theirs.bias]),
        strict=True,
    ):
        torch.testing.assert_close(found, reference, rtol=1e-5, atol=1e-6)


def test_neighbor_sum_equals_the_dense_formula_and_its_gradient_is_right() -> None:
    batch, x = batch_of(toy()), torch.randn(8, 5, dtype=torch.float64, requires_grad=True)
    layer = NeighborSum(learn_eps=True).double()
    assert layer.eps is not None
    nn.init.constant_(layer.eps, 0.3)
    adjacency = batch.adjacency.double()
    wide = batch._replace(adjacency=adjacency)
    torch.testing.assert_close(layer(x, wide), (adjacency.to_dense() + 0.3 * torch.eye(8)) @ x)
    assert torch.autograd.gradcheck(lambda x: layer(x, wide), (x,))


def test_neighbor_sum_equals_ginconv(geometric: Any) -> None:
    data, x = toy(), torch.randn(8, 5)
    ours = NeighborSum(learn_eps=True)
    assert ours.eps is not None
    nn.init.constant_(ours.eps, 0.3)
    theirs = geometric.GINConv(nn.Identity(), eps=0.3)
    torch.testing.assert_close(ours(x, batch_of(data)), theirs(x, data.edge_index))


def test_gin_adds_every_node_to_its_own_sum_once_more_unless_told_not_to() -> None:
    batch, x = batch_of(toy()), torch.randn(8, 3)
    looped, plain = (MODELS.build(spec).blocks[0][0] for spec in ("gin", "gin:self_loops=false"))
    torch.testing.assert_close(looped(x, batch), plain(x, batch) + x)


def test_graphnorm_equals_torch_geometrics(geometric: Any) -> None:
    batch, x = batch_of(toy()), torch.randn(8, 5)
    ours, theirs = NORMS.build("graphnorm", num_features=5), geometric.GraphNorm(5, eps=1e-6)
    alpha = torch.rand(5)
    with torch.no_grad():
        ours.alpha.copy_(alpha)
        theirs.mean_scale.copy_(alpha)
    torch.testing.assert_close(ours(x, batch.graph_index, 3), theirs(x, batch.graph_index), rtol=1e-5, atol=1e-6)


def test_graphnorm_on_a_regular_graph_gives_beta() -> None:
    """All nodes of a ring have equal values, so with alpha = 1 only beta is left."""
    ring = toy([(n, (n + 1) % 6) for n in range(6)], graph=[0] * 6, tags=[0] * 6)
    norm = LayerFactory("graphnorm").graph_norm(4)
    bias = norm.get_parameter("layer.bias")
    nn.init.normal_(bias)
    batch = batch_of(ring)
    op, _, _ = graph_convolution(1, 4)
    y = norm(op(batch.features, batch), batch)
    torch.testing.assert_close(y, bias.expand_as(y), rtol=0, atol=1e-3)  # rounding over sqrt(1e-6)


@pytest.mark.skipif("auggraphnorm" not in NORMS.entries, reason="there is no auggraphnorm")
def test_auggraphnorm_at_phi_2_equals_graphnorm() -> None:
    batch, x = batch_of(toy()), torch.randn(8, 5)
    augmented, plain = (NORMS.build(name, num_features=5) for name in ("auggraphnorm:phi=2", "graphnorm"))
    torch.testing.assert_close(augmented(x, batch.graph_index, 3), plain(x, batch.graph_index, 3), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("norm", [*FITTING, "batchnorm:placement=before", "graphnorm:placement=before"])
@pytest.mark.parametrize("name", GRAPH_MODELS)
def test_graph_networks_train_a_step_with_every_norm(name: str, norm: str) -> None:
    net = MODELS.build(name, norm=norm, act="tanh", num_classes=3, in_channels=3)
    scores = net(batch_of(toy()))
    assert scores.shape == (3, 3)
    scores.square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in net.parameters())
    assert net.eval()(batch_of(toy())).isfinite().all()


@pytest.mark.parametrize(
    ("edges", "graph"),
    [((), (0, 1, 2)), ((), (0, 0, 0)), (((0, 1),), (0, 0, 0)), (((0, 1), (1, 2)), (0, 0, 0)), ((), (0, 0, 1))],
    ids=["single nodes", "no edges", "isolated node", "one graph", "no edges, two graphs"],
)
@pytest.mark.parametrize(
    "norm", [name for name in ("batchnorm", "graphnorm", "augnorm", "auggraphnorm") if name in FITTING]
)
@pytest.mark.parametrize("name", GRAPH_MODELS)
def test_the_smallest_graphs_work(name: str, norm: str, edges: tuple[Any, ...], graph: tuple[int, ...]) -> None:
    net = MODELS.build(name, norm=norm, num_classes=2, in_channels=3, hidden=4)
    scores = net(batch_of(toy(edges, graph, (0, 1, 2))))
    scores.sum().backward()
    assert scores.isfinite().all()
    assert all(p.grad.isfinite().all() for p in net.parameters())


@pytest.mark.parametrize("norm", [*DEGENERATE, "groupnorm:groups=64"])
def test_a_norm_whose_output_ignores_the_nodes_is_refused_with_the_reason(norm: str) -> None:
    with pytest.raises(UsageError, match=f"norm '{norm}' does not fit the nodes of a graph: its statistics are over"):
        MODELS.build("gcn", norm=norm)


@pytest.mark.parametrize("norm", ["popnorm:kappa=1e6", "batchnorm", "auggraphnorm"])
def test_a_norm_with_a_small_output_is_accepted(norm: str) -> None:
    MODELS.build("gcn", norm=norm)


def test_a_graph_norm_is_refused_by_image_networks() -> None:
    with pytest.raises(UsageError, match="over the nodes of a graph: use it with gcn or gin"):
        MODELS.build("resnet20", norm="graphnorm")


@pytest.mark.parametrize(
    ("spec", "blocks"),
    [("gcn", 4), ("gcn:counting=paper", 5), ("gcn:n_layers=2", 1), ("gin", 4), ("gin:n_layers=3", 2)],
)
def test_counting_decides_the_number_of_blocks(spec: str, blocks: int) -> None:
    assert len(MODELS.build(spec).blocks) == blocks


def test_gcn_has_as_many_parameters_as_graphnorms_code() -> None:
    net = MODELS.build("gcn", norm="graphnorm", in_channels=7)
    convolutions = 7 * 64 + 3 * 64 * 64 + 4 * 64
    assert sum(p.numel() for p in net.parameters()) == convolutions + 4 * 3 * 64 + 64 * 2 + 2


def test_residual_sums_begin_with_the_second_block_and_dropout_comes_last() -> None:
    net = MODELS.build("gcn:dropout=0.9", norm="none", hidden=4, in_channels=3)
    for block in list(net.blocks)[1:]:
        for p in block.parameters():
            nn.init.zeros_(p)
    batch = batch_of(toy())
    first = net.blocks[0](batch.features, batch)
    pooled = torch.zeros(3, 4).index_add(0, batch.graph_index, first)
    net.eval()
    torch.testing.assert_close(net(batch), net.classifier(pooled))
    scores = net.train()(batch)
    torch.testing.assert_close(scores, torch.where(scores == 0, 0.0, net.classifier(pooled) * 10))


def test_a_norm_placed_before_normalizes_the_input_of_the_operation() -> None:
    layers = LayerFactory("batchnorm:placement=before")
    norm, op, _ = layers.graph_op(lambda bias: nn.Linear(3, 4, bias=bias), 3, 4).children()
    assert isinstance(norm, PerNode)
    assert norm.layer.num_features == 3
    assert op.bias is not None


def test_a_graph_norm_gets_the_graphs_and_another_norm_only_the_nodes() -> None:
    assert isinstance(LayerFactory("graphnorm").graph_norm(4), PerGraph)
    assert isinstance(LayerFactory("batchnorm").graph_norm(4), PerNode)


def test_dropout_draws_from_its_own_generator() -> None:
    layer, x = Dropout(0.5), torch.ones(1000)
    layer.generator = torch.Generator().manual_seed(3)
    y = layer(x)
    layer.generator.manual_seed(3)
    assert torch.equal(layer(x), y)
    assert set(y.tolist()) == {0.0, 2.0}
    with pytest.raises(ValueError, match="dropout is 1"):
        Dropout(1)
