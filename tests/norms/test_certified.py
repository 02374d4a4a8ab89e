"""The certified error bound of the search to a tolerance: it holds, is within the tolerance, and nothing moves it."""

from __future__ import annotations

import math
import statistics

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from normbench_cli.norms._ggm import to_tolerance, tolerant
from normbench_cli.norms._ggm.pass_scheduler import MOST_BLIND_PASSES
from normbench_cli.norms._native import columns as native
from normbench_cli.norms._native.library import compiler
from normbench_cli.norms.augnorm import AugNorm
from normbench_cli.norms.diffphi import DiffPhi
from normbench_cli.registry import NORMS
from tests.norms.counted_passes import CountedPasses
from tests.norms.gradients import grad_of
from tests.norms.test_ggm import KINDS, SMALLEST, ULP, bisect, columns, make

TOL = 0.02
PHIS = (1.05, 1.2, 1.5, 1.75, 3.0, 8.0)
ROUNDED = 1.001  # a bound in float32


@pytest.fixture(params=["torch", "C++"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which kernels search; those in C++ are skipped where no compiler is found."""
    if request.param == "C++" and compiler() is None:
        pytest.skip("no C++ compiler")
    monkeypatch.setenv("NORMBENCH_COMPILE", "always" if request.param == "C++" else "never")
    assert native.computes(torch.empty(1, 1)) == (request.param == "C++")


in_both = pytest.mark.usefixtures("kernels")


def errors(layer: AugNorm, x: Tensor, phi: float) -> Tensor:
    """Of the center, beyond a few ulp of the largest value, in standard errors, for each channel."""
    allowed = ULP * x.double().abs().amax(0) + 2 * SMALLEST
    error = ((layer.center.double() - bisect(x, phi)).abs() - allowed).clamp_min(0)
    found: Tensor = error / x.double().std(0, correction=0).clamp_min(1e-300) * math.sqrt(len(x))
    return found


def assert_certified(layer: AugNorm, x: Tensor, phi: float) -> None:
    found = {name: float(value) for name, value in layer.solver_statistics().items()}
    assert found["unconverged"] > 0 or found["error_bound"] <= TOL * ROUNDED
    assert float(errors(layer, x, phi).max()) <= found["error_bound"] * ROUNDED


@in_both
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("phi", [1.2, 1.5, *(pytest.param(phi, marks=pytest.mark.slow) for phi in (1.05, 1.75, 3, 8))])
def test_the_bound_holds_on_every_kind_of_data_from_a_cold_and_a_warm_start(kind: str, phi: float) -> None:
    layer, x = AugNorm(4, phi=phi), make(kind)
    for _ in range(2):
        layer.reset_solver_statistics()
        assert torch.isfinite(layer(x)).all()
        assert_certified(layer, x, phi)
        assert layer.solver_statistics()["unconverged"] == 0


def check_any_values(values: list[float], phi: float, scale: float) -> None:
    x = (torch.tensor(values)[:, None].double() * scale).float()
    layer = AugNorm(1, phi=phi)
    layer.start.fill_(0.7)  # a bad start must be harmless
    assert torch.isfinite(layer(x)).all()
    assert_certified(layer, x, phi)


@in_both
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=columns, phi=st.sampled_from(PHIS))
def test_the_bound_holds_for_any_values(values: list[float], phi: float) -> None:
    check_any_values(values, phi, 1.0)


@in_both
@pytest.mark.slow
@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=columns, phi=st.sampled_from(PHIS), exponent=st.integers(-37, 31))
def test_the_bound_holds_for_any_values_of_any_size(values: list[float], phi: float, exponent: int) -> None:
    check_any_values(values, phi, 10.0**exponent)


@in_both
@pytest.mark.parametrize("exponent", [-37, -20, 20, 37])
@pytest.mark.parametrize("phi", [1.2, 1.5])
def test_the_bound_holds_at_any_scale(phi: float, exponent: int) -> None:
    torch.manual_seed(0)
    x = (torch.rand(64, 4, dtype=torch.float64) * 10.0**exponent).float()
    layer = AugNorm(4, phi=phi)
    for _ in range(2):
        layer.reset_solver_statistics()
        layer(x)
        assert_certified(layer, x, phi)


@in_both
@pytest.mark.parametrize("spec", ["augnorm", "augnorm:phi=1.2", "augnorm:phi=3", "diffphi"])
def test_the_gradient_is_that_of_the_center_that_was_used(spec: str) -> None:
    """Against the formula in float64 at the center found, which is not quite the median."""
    torch.manual_seed(0)
    layer, x, dy = NORMS.build(spec, num_features=3), torch.randn(256, 3).exp(), torch.randn(256, 3)
    x.requires_grad_()
    layer(x).backward(dy)
    phi = layer.phi.detach().double() if isinstance(layer, DiffPhi) else layer.fixed_phi
    mu, data, g = layer.center.double(), x.detach().double(), dy.double()
    d = data - mu
    scale = (d.square().mean(0) + 1e-5).rsqrt()
    w, xhat = d.abs() ** (phi - 2), d * scale
    ds = scale * (g - xhat * (g * xhat).mean(0))
    expected = ds - ds.sum(0) * w / w.sum(0)
    torch.testing.assert_close(grad_of(x).double(), expected, rtol=1e-4, atol=1e-5)


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """As on an accelerator: no convergence test.  The passes of each call."""
    passes: list[int] = []
    first = tolerant.FORWARD

    def counted(*tensors: Tensor, **options: object) -> object:
        passes.append(options["options"].steps)  # type: ignore[attr-defined]
        return first(*tensors, **options)  # type: ignore[arg-type]

    for module in (tolerant, to_tolerance):
        monkeypatch.setattr(module, "reads_without_sync", lambda _: False)
    monkeypatch.setattr(tolerant, "FORWARD", counted)
    return passes


JUMPS = {
    "none": lambda x: x,
    "mean": lambda x: x + 10,
    "scale": lambda x: x * 100,
    "ties": lambda x: (x - 1.5).relu(),
    "shape": lambda x: x.exp(),
}


@pytest.mark.parametrize("jump", JUMPS)
@pytest.mark.parametrize("phi", [1.2, 1.5])
def test_a_blind_search_recovers_within_three_steps(phi: float, jump: str, blind: list[int]) -> None:
    torch.manual_seed(0)
    layer, bounds = AugNorm(8, phi=phi), []
    for step in range(10):
        layer.reset_solver_statistics()
        x = torch.randn(2048, 8) if step < 5 else JUMPS[jump](torch.randn(2048, 8))
        assert torch.isfinite(layer(x)).all()
        found = layer.solver_statistics()
        bounds.append(float(found["error_bound"]))
        assert (bounds[-1] > TOL * ROUNDED) == (float(found["unconverged"]) > 0)  # what was not reached is recorded
        assert float(errors(layer, x, phi).max()) <= bounds[-1] * ROUNDED
    assert min(bounds[5:9]) <= TOL * ROUNDED
    assert min(bounds[:3]) <= TOL * ROUNDED
    assert blind[0] == MOST_BLIND_PASSES


def test_a_blind_search_takes_more_passes_after_a_step_that_was_not_certified(blind: list[int]) -> None:
    torch.manual_seed(0)
    layer = AugNorm(4)
    for _ in range(3):
        layer(torch.randn(256, 4))
    assert layer.failures == 0
    blind.clear()
    for failures in (0, 1, 2, 3, 0):
        resumed = AugNorm(4)
        resumed.failures.fill_(failures)
        resumed(torch.randn(256, 4))
    assert blind == [1, 2, MOST_BLIND_PASSES, MOST_BLIND_PASSES, 1]
    for certified, failures in ((False, 1), (False, 2), (True, 0), (False, 1)):
        layer.pass_scheduler.report(layer.failures, torch.tensor(certified))
        assert layer.failures == failures


@in_both
@pytest.mark.parametrize(("phi", "most"), [(1.5, 1.3), (1.2, 2.5)])
def test_passes_of_the_search_in_the_warm_state(phi: float, most: float, monkeypatch: pytest.MonkeyPatch) -> None:
    counted, layer = CountedPasses(monkeypatch), AugNorm(8, phi=phi)
    torch.manual_seed(0)
    for step in range(25):
        if step == 5:
            counted.reset()
            layer.reset_solver_statistics()
        layer(torch.randn(4096, 8).exp())
    assert counted.mean <= most
    assert layer.solver_statistics()["iterations_mean"] <= most  # that a channel needs


@pytest.mark.parametrize(("phi", "most"), [(1.5, 1.3), (1.2, 2.5)])
def test_passes_of_a_blind_search_in_the_warm_state(phi: float, most: float, blind: list[int]) -> None:
    layer = AugNorm(8, phi=phi)
    torch.manual_seed(0)
    for _ in range(25):
        layer(torch.randn(4096, 8).exp())
    assert statistics.fmean(blind[5:]) <= most


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch's own tracer does
def test_a_compiled_layer_is_compiled_once_and_searches_as_long_as_it_must() -> None:
    torch.manual_seed(0)
    torch.compiler.reset()
    graphs = []

    def backend(graph: torch.fx.GraphModule, _: object) -> object:
        graphs.append(graph)
        return graph.forward

    layer, twin = AugNorm(4), AugNorm(4)
    compiled = torch.compile(layer, fullgraph=True, backend=backend)
    for step in range(6):
        x = torch.randn(16, 4, 5, 5) * (100 if step == 3 else 1) + (10 if step == 4 else 0)
        torch.testing.assert_close(compiled(x), twin(x), rtol=1e-5, atol=1e-5)
    assert len(graphs) == 1
    assert layer.solver_statistics()["unconverged"] == 0
    assert layer.solver_statistics()["error_bound"] <= TOL * ROUNDED
