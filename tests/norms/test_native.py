"""The kernels in C++ compute what the formulas say, in every layout, and are done without where no compiler works."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normbench_cli import fast_paths
from normbench_cli.norms import NORMS
from normbench_cli.norms._batch.layout import from_columns, to_columns
from normbench_cli.norms._ggm.buffers import SolverBuffers
from normbench_cli.norms._ggm.gradient import backward_pass
from normbench_cli.norms._ggm.kernels import Fit, SolverOptions
from normbench_cli.norms._native import columns, library, standardize

LAYOUTS = {  # shape, and whether channels are last in memory
    "few rows": ((3, 5), False),
    "rows": ((300, 40), False),
    "odd image": ((6, 5, 7, 7), False),
    "odd image, channels last": ((6, 5, 7, 7), True),
    "short runs": ((130, 37, 4, 4), False),
    "long runs": ((3, 3, 80, 80), False),
    "channels last": ((40, 37, 8, 8), True),
}
PHIS = [1.2, 1.5, 1.9, 3.0]
needs_compiler = pytest.mark.skipif(library.compiler() is None, reason="no C++ compiler")


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMBENCH_COMPILE", "always")


def data(layout: str, seed: int = 0) -> Tensor:
    shape, last = LAYOUTS[layout]
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed)).exp() - 1
    return to_columns(x.contiguous(memory_format=torch.channels_last) if last else x)


def new_buffers(channels: int) -> SolverBuffers:
    return SolverBuffers(torch.zeros(channels), torch.zeros(channels), torch.zeros(5), torch.zeros(()))


def per_channel(values: Tensor, flat: Tensor) -> Tensor:
    return values.double() if flat.ndim == 2 else values.double()[:, None]


@needs_compiler
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("phi", PHIS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_passes_of_augnorm(layout: str, phi: float, dtype: torch.dtype) -> None:
    flat, dy = data(layout).to(dtype), data(layout, 1).to(dtype)
    channels, axes = flat.shape[1], (0, 2) if flat.ndim == 3 else 0
    weight, bias = torch.linspace(0.5, 2, channels), torch.linspace(-1, 1, channels)
    options, buffers = SolverOptions(phi, 1e-5, 1, above_two=phi > 2, tol=0.02), new_buffers(channels)
    step = columns.forward(flat, weight, bias, phi, buffers, eps=1e-5, tol=0.02, above_two=phi > 2)
    fit = Fit(*step.fit)
    x, mu, places = flat.double(), fit.mu.double(), {torch.float32: 2e-5, torch.bfloat16: 8e-3}[dtype]
    d = x - per_channel(mu, x)
    score, slope = (d.sign() * d.abs() ** (phi - 1)).sum(axes), (phi - 1) * (d.abs() ** (phi - 2)).sum(axes)
    assert step.left == 0
    assert float((score / slope).abs().max()) < 0.02  # the median is near
    torch.testing.assert_close(fit.mean.double(), x.mean(axes), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(fit.var.double(), d.square().mean(axes), rtol=1e-5, atol=1e-6)
    y = d * per_channel(fit.scale * weight, x) + per_channel(bias, x)
    torch.testing.assert_close(step.y.double(), y, rtol=places, atol=places)
    assert torch.equal(buffers.center, fit.mu)
    assert torch.equal(buffers.start, fit.offset / 2)
    found = columns.backward(dy, flat, weight, step.fit, phi, above_two=phi > 2)
    tensors = weight, fit.mean, fit.mu, fit.scale, fit.floor
    doubled: list[Any] = [dy.double(), x, *(t.double() for t in tensors), None]
    expected = backward_pass(*doubled, options=options)
    for one, other in zip(found[:3], expected, strict=False):
        assert one is not None
        torch.testing.assert_close(one.double(), other, rtol=4 * places, atol=4 * places)


@needs_compiler
def test_the_gradient_of_a_learned_phi() -> None:
    flat, dy = data("channels last"), data("channels last", 1)
    channels, ones = flat.shape[1], torch.ones(flat.shape[1])
    phi = torch.linspace(1.21, 1.99, channels)
    options, buffers = SolverOptions(None, 1e-5, 1, tol=0.02), new_buffers(channels)
    step = columns.forward(flat, ones, None, phi, buffers, eps=1e-5, tol=0.02, above_two=False)
    *_, dphi = columns.backward(dy, flat, ones, step.fit, phi, above_two=False)
    fit = Fit(*step.fit)
    doubled: list[Any] = [t.double() for t in (dy, flat, ones, fit.mean, fit.mu, fit.scale, fit.floor, phi)]
    expected = backward_pass(*doubled, options=options)
    assert dphi is not None
    torch.testing.assert_close(dphi.double(), expected[3], rtol=2e-3, atol=2e-3)


@needs_compiler
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mean", [0.0, 30.0])
def test_the_passes_of_popnorm(layout: str, mean: float) -> None:
    flat, dy = data(layout) + mean, data(layout, 1)
    channels = flat.shape[1]
    weight, bias = torch.linspace(0.5, 2, channels), torch.linspace(-1, 1, channels)
    y, found_mean, _, scale = standardize.forward(flat, weight, bias, kappa=4.0, eps=1e-5)
    dx, dweight, dbias = standardize.backward(dy, flat, weight, bias, found_mean, scale, kappa=4.0, eps=1e-5)
    x, gamma, beta = (t.double().requires_grad_() for t in (flat, weight, bias))
    axes = (0, 2) if flat.ndim == 3 else 0
    xbar = x - x.mean(axes, keepdim=True) + (beta if x.ndim == 2 else beta[:, None])
    expected = xbar * (xbar.square().mean(axes, keepdim=True) + 1e-5).rsqrt() / 4
    expected = expected * (gamma if x.ndim == 2 else gamma[:, None])
    expected.backward(dy.double())
    for one, other in zip((y, dx, dweight, dbias), (expected, x.grad, gamma.grad, beta.grad), strict=True):
        assert other is not None
        torch.testing.assert_close(one.double(), other.detach(), rtol=1e-3, atol=1e-3)


@needs_compiler
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch's own
def test_layers_that_differ_in_phi_are_compiled_in_one_model() -> None:
    torch.compiler.reset()
    for spec in ("augnorm:phi=1.5", "augnorm:phi=1.2", "diffphi"):
        layer, x = NORMS.build(spec, num_features=3), torch.randn(8, 3, 4, 4)
        alone = NORMS.build(spec, num_features=3)(x)
        compiled: Any = torch.compile(layer, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(x), alone)


@needs_compiler
def test_values_that_no_float_can_square_are_solved_by_other_means() -> None:
    x = torch.randn(64, 4) * torch.tensor([1.0, 1e30, 1e-37, 0.0])
    layer = NORMS.build("augnorm", num_features=4)
    assert torch.isfinite(layer(x)).all()
    assert layer.solver_statistics()["unconverged"] == 0


@needs_compiler
def test_what_is_not_finite_stays_so_and_harms_no_other_channel() -> None:
    x = torch.randn(64, 3)
    x[5, 1], x[6, 2] = torch.nan, torch.inf
    layer = NORMS.build("augnorm", num_features=3)
    y = layer(x)
    assert torch.isfinite(y[:, 0]).all()
    assert not torch.isfinite(y[:, 1:]).any()
    assert torch.isfinite(layer.center).all()


def test_without_a_working_compiler_the_layers_run_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CXX", "false")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(fast_paths, "_outcomes", {})
    monkeypatch.setattr(columns, "library", library.library.__wrapped__)
    assert not columns.computes(torch.empty(300, 400))
    assert "norm layers with a robust center run slower" in caplog.text
    monkeypatch.setenv("NORMBENCH_COMPILE", "never")
    x = torch.randn(8, 3, 4, 4)
    assert torch.isfinite(nn.Sequential(NORMS.build("augnorm", num_features=3))(x)).all()


def test_the_kernels_read_tensors_as_they_lie_in_memory() -> None:
    x = torch.randn(2, 3, 4, 4)
    last = x.contiguous(memory_format=torch.channels_last)
    assert columns.shape_of(x) == (2, 3, 16)
    assert columns.shape_of(last) == (32, 3, 1)
    assert torch.equal(from_columns(to_columns(last), last), x)
    assert all(columns.dense(t) is t for t in (x, last))
    assert columns.dense(x[:, :, ::2]).is_contiguous()


@needs_compiler
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("spec", ["augnorm", "diffphi", "popnorm"])
def test_gradients_may_lie_in_memory_in_any_way(spec: str, memory_format: torch.memory_format) -> None:
    x, dy, found = torch.randn(4, 3, 6, 6), torch.randn(4, 3, 6, 6), list[Tensor | None]()
    for grad in (dy, dy.contiguous(memory_format=torch.channels_last), dy.mT.contiguous().mT):
        image = x.clone(memory_format=memory_format).requires_grad_()
        NORMS.build(spec, num_features=3)(image).backward(grad)
        found.append(image.grad)
    for other in found[1:]:
        torch.testing.assert_close(found[0], other, rtol=0, atol=0)


@needs_compiler
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
@pytest.mark.parametrize("spec", ["augnorm", "diffphi"])
def test_a_layer_in_another_dtype_updates_its_buffers_in_it(spec: str, dtype: torch.dtype) -> None:
    x = torch.randn(64, 5) + torch.arange(5)
    layer, plain = NORMS.build(spec, num_features=5).to(dtype), NORMS.build(spec, num_features=5)
    for each in (layer, plain):
        each(x)
    for name, buffer in layer.named_buffers():
        torch.testing.assert_close(buffer, plain.get_buffer(name).to(buffer.dtype), rtol=2e-2, atol=2e-3)


def transposed(x: Tensor) -> Tensor:
    return x.mT


def with_gaps(x: Tensor) -> Tensor:
    return x[:, :, ::2]


def channels_last_with_gaps(x: Tensor) -> Tensor:
    return x.contiguous(memory_format=torch.channels_last)[:, :, 1:]


@needs_compiler
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch's own
@pytest.mark.parametrize(
    ("spec", "compiled"), [("augnorm", False), ("diffphi", False), ("popnorm", False), ("augnorm", True)]
)
@pytest.mark.parametrize("view", [transposed, with_gaps, channels_last_with_gaps])
def test_views_are_normalized_as_their_copies(view: Callable[[Tensor], Tensor], spec: str, compiled: bool) -> None:
    torch.compiler.reset()
    x, found = torch.randn(8, 3, 6, 6), list[tuple[Tensor, Tensor]]()
    for copied in (False, True):
        layer: Any = NORMS.build(spec, num_features=3)
        seen = view(x.clone())
        seen = (seen.contiguous() if copied else seen).detach().requires_grad_()
        y = (torch.compile(layer, fullgraph=True, backend="aot_eager") if compiled else layer)(seen)
        (dx,) = torch.autograd.grad((y * y.detach().cos()).sum(), seen)
        found.append((y.detach(), dx))
    torch.testing.assert_close(found[0], found[1], rtol=1e-2, atol=5e-3)  # tol=0.02 of a standard error of 1 / 12


@needs_compiler
def test_the_compiler_may_be_a_command_of_several_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    command = library.compiler()
    assert command is not None
    monkeypatch.setenv("CXX", f"env {command[0]} -O0")
    assert library.compiler() == [shutil.which("env"), command[0], "-O0"]
    assert library.version(["env", *command]) == library.version(command)
    monkeypatch.setenv("CXX", "no-such-compiler -O0")
    assert library.compiler() == command
