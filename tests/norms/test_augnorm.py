"""AugNorm: BatchNorm at phi = 2, right gradients, unbroken by hard inputs, fit for compilers and accelerators."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck
from torch.func import functional_call

from normbench_cli.norms._ggm.median import generalized_median
from normbench_cli.norms.augnorm import STEPS_UNCHECKED, STEPS_UNCHECKED_LOW_PHI, AugNorm
from normbench_cli.registry import NORMS
from tests.norms.exact import exact
from tests.norms.gradients import grad_of

SPECS = ["augnorm", "augnorm:phi=1", "augnorm:phi=inf", "augnorm:phi=3", "augnorm:solver=newton:iterations=8"]
SPECS += ["diffphi", "mediannorm", "popnorm", "popnorm:divide=l1", "popnorm:stats=group,groups=2"]
SLOW_TO_TRACE = ("augnorm", "augnorm:phi=3", "augnorm:solver=newton:iterations=8", "diffphi")
SHAPES = [(8, 4), (8, 4, 5), (8, 4, 5, 5), (4, 4, 3, 3, 3)]


def inputs(shape: tuple[int, ...], last: bool = False, dtype: torch.dtype = torch.float32) -> Tensor:
    torch.manual_seed(0)
    x = torch.randn(shape, dtype=dtype) * 2 + 3
    return x.to(memory_format=torch.channels_last) if last else x


def step(layer: Any, x: Tensor) -> tuple[Tensor, ...]:
    x = x.detach().clone().requires_grad_()
    y = layer(x)
    y.mul(torch.linspace(-1, 2, y.numel(), dtype=y.dtype).view(y.shape)).sum().backward()
    return y.detach(), grad_of(x)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-12)])
@pytest.mark.parametrize("last", [False, True])
def test_phi_2_is_batchnorm(dtype: torch.dtype, tolerance: float, last: bool) -> None:
    ours, torchs = AugNorm(4, phi=2).to(dtype), nn.BatchNorm2d(4).double()  # whose own float32 is off by 1e-6 already
    x = inputs((16, 4, 5, 5), last, dtype)
    (y, grad), (y_torch, grad_torch) = step(ours, x), step(torchs, x.double())
    assert torchs.running_mean is not None
    assert torchs.running_var is not None
    for a, b in ((y, y_torch), (grad, grad_torch), (ours.running_mean, torchs.running_mean)):
        assert float((a - b).abs().max()) <= tolerance * max(1, float(b.abs().max()))
    assert torch.allclose(grad_of(ours.weight).double(), grad_of(torchs.weight), atol=tolerance * 100)
    assert y.stride() == y_torch.stride()
    assert torch.allclose(
        ours.running_var.double() * 400 / 399, torchs.running_var, rtol=1e-2
    )  # biased against unbiased


@pytest.mark.parametrize("last", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_compiled_equals_eager(last: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    x, results = inputs((16, 4, 5, 5), last), []
    for policy in ("never", "always"):
        monkeypatch.setenv("NORMBENCH_COMPILE", policy)
        results.append(step(AugNorm(4, tol="exact"), x))
    for a, b in zip(*results, strict=True):
        assert torch.allclose(a, b, atol=2e-5)


def test_center_and_running_statistics() -> None:
    layer, x = AugNorm(4, momentum=1.0, tol="exact"), inputs((16, 4, 5, 5))
    mu = generalized_median(x, 1.5, (0, 2, 3))
    y = layer(x)
    assert torch.allclose(layer.running_mean, mu, atol=1e-4)
    assert torch.allclose(generalized_median(y, 1.5, (0, 2, 3)), torch.zeros(4), atol=1e-4)
    assert torch.allclose(y.square().mean((0, 2, 3)), torch.ones(4), atol=1e-4)
    before = copy.deepcopy(layer.state_dict())
    assert torch.allclose(layer.eval()(x), y, atol=1e-4)
    assert all(torch.equal(before[k], v) for k, v in layer.state_dict().items())


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("training", [True, False])
def test_gradients(spec: str, training: bool) -> None:
    torch.manual_seed(1)
    layer = NORMS.build(exact(spec), num_features=4).double().train(training)
    names = [name for name, _ in layer.named_parameters()]
    values = [(p + 0.2 * torch.randn_like(p)).detach().requires_grad_() for p in layer.parameters()]
    x = torch.randn(4, 4, 2, dtype=torch.float64, requires_grad=True)
    call = lambda x, *p: functional_call(layer, dict(zip(names, p, strict=True)), (x,))  # noqa: E731
    assert gradcheck(call, (x, *values))


@pytest.mark.parametrize("phi", [1.2, 1.5])
def test_gradient_where_mu_meets_tied_values(phi: float) -> None:
    x = torch.tensor([[-1.0], [0], [0], [1]], dtype=torch.float64, requires_grad=True)
    assert gradcheck(AugNorm(1, phi=phi, tol="exact").double(), (x,), atol=1e-4)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_on_the_meta_device_where_reading_a_value_raises(
    spec: str, training: bool, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("normbench_cli.norms.augnorm.STEPS_UNCHECKED", 2)  # all are the same
    layer = NORMS.build(spec, num_features=4).train(training).to("meta")
    x = torch.randn(shape, device="meta", requires_grad=True)
    y = layer(x)
    y.sum().backward()
    assert (y.shape, grad_of(x).shape) == (x.shape, x.shape)


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch's own tracer does
@pytest.mark.parametrize(
    ("spec", "training"),
    [
        pytest.param(spec, training, marks=[pytest.mark.slow] if training and spec in SLOW_TO_TRACE else [])
        for spec in SPECS
        for training in (True, False)
    ],
)
def test_no_graph_break_and_export(spec: str, training: bool) -> None:
    layer = NORMS.build(spec, num_features=4).train(training)
    twin, x = copy.deepcopy(layer), inputs((8, 4, 5, 5))
    torch.compiler.reset()  # the layers share one `forward`, of which torch keeps a limited number of versions
    traced = torch.compile(layer, fullgraph=True, backend="aot_eager")
    for a, b in zip(step(traced, x), step(twin, x), strict=True):
        assert torch.allclose(a, b, atol=2e-5)
    torch.export.export(layer, (x,))


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(spec: str, dtype: torch.dtype) -> None:
    layer, x = NORMS.build(spec, num_features=4), inputs((8, 4, 5, 5)).to(dtype)
    y, grad = step(layer, x)
    assert (y.dtype, grad.dtype, layer.weight.grad.dtype) == (dtype, dtype, torch.float32)
    assert torch.allclose(y.float(), NORMS.build(spec, num_features=4)(x.float()), atol=0.05)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.isfinite(layer(nn.Conv2d(4, 4, 1)(x.float()))).all()


@pytest.mark.parametrize("spec", [spec for spec in SPECS if "newton" not in spec])
@pytest.mark.parametrize(
    "x",
    [
        torch.full((8, 4, 3, 3), 2.5),
        torch.randn(1, 4),
        torch.zeros(8, 4).index_fill_(0, torch.tensor([2]), 1.0),
        torch.randn(8, 4) * 1e30,
        torch.randn(8, 4) * 1e-38,
    ],
    ids=["constant", "one value", "all tied but one", "huge", "subnormal"],
)
def test_hard_inputs_give_finite_outputs_and_gradients(spec: str, x: Tensor) -> None:
    y, grad = step(NORMS.build(spec, num_features=4), x)
    assert torch.isfinite(y).all()
    assert torch.isfinite(grad).all()


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_a_nan_spoils_its_channel_only_and_is_forgotten(broken: float) -> None:
    layer, x = AugNorm(4), inputs((16, 4))
    spoilt = x.clone()
    spoilt[3, 1] = broken
    y = layer(spoilt)
    assert torch.isnan(y[:, 1]).all()
    assert torch.isfinite(y[:, [0, 2, 3]]).all()
    assert torch.isfinite(layer(x)).all()


def test_single_value_gives_beta() -> None:
    layer = AugNorm(4)
    assert layer.bias is not None
    nn.init.constant_(layer.bias, 0.7)
    assert torch.allclose(layer(torch.randn(1, 4)), torch.tensor(0.7))


@pytest.mark.parametrize("spec", SPECS)
def test_consumers_in_place_an_odd_last_batch_and_gradients_in_evaluation(spec: str) -> None:
    layer = NORMS.build(spec, num_features=4)
    for n in (16, 16, 7):
        x = inputs((n, 4, 5, 5)).requires_grad_()
        layer(x).div_(2).sum().backward()
    layer.eval()
    x = inputs((2, 4, 5, 5)).requires_grad_()
    layer(x).square().sum().backward()
    assert float(grad_of(x).abs().sum()) > 0
    with torch.no_grad():
        quiet = layer(x)
    assert torch.equal(layer(x), quiet)


def test_saves_no_more_for_backward_than_batchnorm() -> None:
    def saved(layer: nn.Module) -> int:
        sizes: list[int] = []

        def count(saved: Tensor) -> Tensor:
            sizes.append(saved.nbytes)
            return saved

        with torch.autograd.graph.saved_tensors_hooks(count, lambda saved: saved):
            layer(inputs((128, 4, 16, 16)).requires_grad_())
        return sum(sizes)

    for spec in ("augnorm", "diffphi", "popnorm"):
        assert saved(NORMS.build(spec, num_features=4)) <= 1.05 * saved(nn.BatchNorm2d(4))


def test_state_of_a_batchnorm_fits_and_state_round_trips() -> None:
    source, layer, x = nn.BatchNorm2d(4), AugNorm(4, phi=2), inputs((16, 4, 5, 5))
    source(x)
    layer.load_state_dict(source.state_dict())
    assert torch.allclose(layer.eval()(x), source.eval()(x), atol=1e-6)
    other = AugNorm(4, phi=2).eval()
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other(x), layer(x))


BATCHNORM = ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"]


@pytest.mark.parametrize(
    ("spec", "keys"),
    [
        ("augnorm", [*BATCHNORM, "center", "start"]),
        ("diffphi", [*BATCHNORM, "center", "phi_raw", "start"]),
        ("mediannorm", BATCHNORM),
        ("auggraphnorm", ["weight", "bias", "alpha"]),
        ("auggraphnorm:learn_phi=true", ["weight", "bias", "alpha", "phi_raw"]),
    ],
)
def test_checkpoints_keep_their_keys(spec: str, keys: list[str]) -> None:
    assert sorted(NORMS.build(spec, num_features=4).state_dict()) == sorted(keys)


def test_wrong_width_says_so() -> None:
    with pytest.raises(ValueError, match="num_features"):
        AugNorm(4)(torch.randn(2, 5))


@pytest.mark.parametrize(
    ("phi", "steps"), [(1.2, STEPS_UNCHECKED_LOW_PHI), (1.4, STEPS_UNCHECKED), (3, STEPS_UNCHECKED)]
)
def test_a_low_phi_takes_more_steps_without_a_convergence_test(phi: float, steps: int) -> None:
    assert AugNorm(4, phi=phi, tol="exact").solver_options(torch.empty(8, 4, device="meta")).steps == steps
