"""The bounds of the norms' parameters, at their edges."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from normbench_cli.errors import UsageError
from normbench_cli.norms._batch import reduce
from normbench_cli.registry import NORMS
from tests.norms.exact import exact


@pytest.mark.parametrize(
    "spec",
    [
        "augnorm:phi=1",
        "augnorm:phi=16",
        "augnorm:phi=inf",
        "auggraphnorm:phi=16",
        "auggraphnorm:phi=1.21,learn_phi=true",
        "auggraphnorm:phi=1.99,learn_phi=true",
        "diffphi:low=1.01",
        "diffphi:high=16",
        "augnorm:solver=newton:iterations=1",
    ],
)
def test_values_at_a_bound_are_accepted(spec: str) -> None:
    assert NORMS.build(spec, num_features=4)(torch.randn(8, 4)).isfinite().all()


@pytest.mark.parametrize(
    "spec",
    [
        "augnorm:phi=0.99",
        "augnorm:phi=16.1",
        "augnorm:phi=nan",
        "auggraphnorm:phi=1",
        "auggraphnorm:phi=inf",
        "auggraphnorm:phi=1.2,learn_phi=true",
        "auggraphnorm:phi=2,learn_phi=true",
        "diffphi:low=1",
        "diffphi:high=16.1",
        "diffphi:init=1.2",
        "diffphi:init=2",
        "augnorm:solver=newton:iterations=0",
        "augnorm:solver=newton:iterations=-1",
        "auggraphnorm:solver=fast",
        "popnorm:kappa=0",
        "popnorm:kappa=inf",
    ],
)
def test_values_beyond_a_bound_are_refused(spec: str) -> None:
    with pytest.raises(UsageError, match=r"phi|low < init|solver|kappa"):
        NORMS.build(spec, num_features=4)


def step(spec: str, x: Tensor) -> list[Tensor]:
    """Output and gradients of one training step in float64."""
    layer = NORMS.build(exact(spec), num_features=4).double()
    x = x.clone().requires_grad_()
    y = layer(x)
    y.mul(torch.linspace(-1, 2, y.numel()).double().view(y.shape)).sum().backward()
    return [y.detach(), *(leaf.grad for leaf in (x, *layer.parameters()) if leaf.grad is not None)]


@pytest.mark.parametrize("shape", [(37, 4), (37, 4, 3)], ids=str)
@pytest.mark.parametrize(
    "spec", ["augnorm", "augnorm:phi=2", "augnorm:phi=3", "augnorm:solver=newton", "diffphi", "mediannorm", "popnorm"]
)
def test_layers_compute_the_same_in_many_chunks(
    spec: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    whole = step(spec, x)
    monkeypatch.setattr(reduce, "CHUNK", 50)
    torch.testing.assert_close(step(spec, x), whole)
