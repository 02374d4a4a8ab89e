"""What every layer in the registry must do, found there by itself: a new norm is tested without a line here."""

from __future__ import annotations

import ast
import copy
import inspect
import re
import subprocess
import sys

import pytest
import torch
from torch import Tensor, nn

from normbench_cli import norms
from normbench_cli.registry import NORMS
from normbench_cli.registry.norm_spec import PLACEMENT_OPTIONS

SHAPES = [(6, 4), (6, 4, 5), (6, 4, 5, 3), (6, 4, 3, 2, 2)]
DATA_NORMS = [n for n, e in NORMS.entries.items() if e.facts.placement != "weight" and not e.facts.graphs]
GRAPH_NORMS = [n for n, e in NORMS.entries.items() if e.facts.graphs]
WEIGHT_NORMS = [n for n, e in NORMS.entries.items() if e.facts.placement == "weight"]
RUNNING = [name for name in DATA_NORMS if "running_mean" in dict(NORMS.build(name, num_features=4).named_buffers())]


def data(shape: tuple[int, ...], dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    return (3 * torch.randn(shape, generator=torch.Generator().manual_seed(seed)) + 1).to(dtype)


@pytest.mark.parametrize("name", NORMS.choices())
def test_the_docstring_has_a_summary_an_equation_and_every_parameter(name: str) -> None:
    entry = NORMS.entries[name]
    docstring = inspect.getdoc(entry.load()) or ""
    summary, _, rest = docstring.partition("\n\n")
    assert summary == entry.summary  # one line, for `list norms`
    assert summary.endswith(".")
    assert re.search(r"^ *\w+ = ", rest, re.MULTILINE)
    own = [key for key in entry.parameters if key not in PLACEMENT_OPTIONS]
    assert not [key for key in own if not re.search(rf"(^|[;,:] ) *\b{key}\b", rest, re.MULTILINE)]


@pytest.mark.parametrize("name", [*DATA_NORMS, *GRAPH_NORMS])
def test_layer_classes_can_be_imported_from_the_package(name: str) -> None:
    entry = NORMS.entries[name]
    layer = getattr(norms, entry.attribute)
    assert layer is entry.load()
    assert entry.attribute in norms.__all__
    assert entry.attribute in dir(norms)


def test_type_checkers_see_what_the_package_gives() -> None:
    tree = ast.parse(inspect.getsource(norms))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = [(node.module, name.name) for node in block.body if isinstance(node, ast.ImportFrom) for name in node.names]
    given = {getattr(norms, name): name for name in norms.__all__ if name != "NORMS"}
    assert {(found.__module__, name) for found, name in given.items()} >= set(seen)
    assert len(seen) > 10


def test_importing_the_package_loads_no_torch() -> None:
    code = "import sys, normbench_cli.norms; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    with pytest.raises(AttributeError, match="no attribute 'AugNrom'"):
        _ = norms.AugNrom


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", DATA_NORMS)
def test_any_shape_forward_and_backward(name: str, shape: tuple[int, ...]) -> None:
    layer = NORMS.build(name, num_features=4)
    x = data(shape).requires_grad_()
    y = layer(x)
    assert y.shape == x.shape
    y.square().sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())


@pytest.mark.parametrize("name", DATA_NORMS)
def test_channels_last_gives_the_same_and_stays_channels_last(name: str) -> None:
    x = data((6, 4, 5, 3))
    plain = NORMS.build(name, num_features=4)(x)
    y = NORMS.build(name, num_features=4)(x.contiguous(memory_format=torch.channels_last))
    torch.testing.assert_close(y, plain)
    assert y.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("name", DATA_NORMS)
def test_state_survives_copying_and_loading(name: str) -> None:
    layer = NORMS.build(name, num_features=4)
    layer(data((6, 4, 5, 3)))
    loaded = NORMS.build(name, num_features=4)
    loaded.load_state_dict(layer.state_dict())
    x = data((6, 4, 5, 3), seed=1)
    expected = layer.eval()(x)
    torch.testing.assert_close(loaded.eval()(x), expected)
    torch.testing.assert_close(copy.deepcopy(layer)(x), expected)


@pytest.mark.parametrize("name", DATA_NORMS)
def test_evaluation_changes_no_buffer_and_is_the_same_with_gradients(name: str) -> None:
    layer = NORMS.build(name, num_features=4)
    layer(data((6, 4, 5, 3)))
    layer.eval()
    before = copy.deepcopy(layer.state_dict())
    x = data((6, 4, 5, 3), seed=1)
    with torch.no_grad():
        without_gradient = layer(x)
    torch.testing.assert_close(layer(x.requires_grad_()), without_gradient)
    torch.testing.assert_close(layer.state_dict(), before)


@pytest.mark.parametrize("name", RUNNING)
def test_running_statistics_reach_those_of_a_constant_batch(name: str) -> None:
    layer = NORMS.build(name, num_features=4)
    x = data((64, 4, 5, 3))
    for _ in range(200):
        expected = layer(x)
    torch.testing.assert_close(
        layer.eval()(x), expected, rtol=0.01, atol=0.01
    )  # torch's own running variance is unbiased


@pytest.mark.parametrize("name", DATA_NORMS)
def test_autocast_computes_statistics_in_float32(name: str) -> None:
    x = data((64, 4, 5, 3)) * 1000  # sums of squares would overflow in half precision
    expected = NORMS.build(name, num_features=4)(x)
    with torch.autocast("cpu", torch.bfloat16):
        y = NORMS.build(name, num_features=4)(x.bfloat16())
    torch.testing.assert_close(y.float(), expected, rtol=0.05, atol=0.05 * expected.std().item())


@pytest.mark.parametrize("name", DATA_NORMS)
def test_consumers_may_change_the_output_in_place(name: str) -> None:
    layer = NORMS.build(name, num_features=4)
    x, y = data((6, 4, 5, 3)).requires_grad_(), data((6, 4, 5, 3)).requires_grad_()
    layer(x).mul(1).square().sum().backward()
    (layer(y + 0).div_(1) if name != "none" else layer(y + 0)).square().sum().backward()
    torch.testing.assert_close(x.grad, y.grad)


@pytest.mark.parametrize("name", DATA_NORMS)
@pytest.mark.parametrize("training", [True, False])
def test_nothing_waits_for_the_device_or_leaves_it(name: str, training: bool) -> None:
    with torch.device("meta"):
        layer = NORMS.build(name, num_features=4).train(training)
        x = torch.randn(6, 4, 5, 3, requires_grad=True)
    layer(x).sum().backward()  # on `meta` any look at a value raises
    assert x.grad is not None
    assert x.grad.shape == x.shape


@pytest.mark.parametrize("op", [nn.Conv2d(4, 6, 3, padding=1), nn.Linear(5, 6)], ids=["conv", "linear"])
@pytest.mark.parametrize("name", WEIGHT_NORMS)
def test_weight_norms_wrap_an_operation(name: str, op: nn.Module) -> None:
    wrapped = NORMS.build(name, op=copy.deepcopy(op))
    y = wrapped(data((2, 4, 5, 5)))
    y.square().sum().backward()
    assert y.isfinite().all()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in wrapped.parameters())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", DATA_NORMS)
def test_layers_in_half_precision_compute_in_float32(name: str, dtype: torch.dtype) -> None:
    x = data((8, 4, 5, 3)) * 100  # whose squares overflow in float16
    expected, layer = NORMS.build(name, num_features=4)(x), NORMS.build(name, num_features=4).to(dtype)
    y = layer(x.to(dtype).requires_grad_())
    assert y.dtype == dtype
    torch.testing.assert_close(y.float(), expected, rtol=0.05, atol=0.05 * expected.std().item())
    y.sum().backward()
    assert all(p.grad is not None and p.grad.dtype == dtype for p in layer.parameters())


@pytest.mark.parametrize("name", DATA_NORMS)
@pytest.mark.parametrize("shape", [(0, 4), (0, 4, 5, 3), (6, 4, 0, 3)], ids=str)
def test_an_empty_batch_changes_no_statistics(name: str, shape: tuple[int, ...]) -> None:
    layer = NORMS.build(name, num_features=4)
    before = {name: value.clone() for name, value in layer.state_dict().items() if name != "num_batches_tracked"}
    y = layer(torch.empty(shape))
    assert y.shape == shape
    torch.testing.assert_close({name: layer.state_dict()[name] for name in before}, before)
