"""DiffPhi: phi stays in its range without being cut off, and learns."""

import pytest
import torch

from normbench_cli.norms.diffphi import DiffPhi


def test_survives_a_large_learning_rate_on_clustered_data() -> None:
    torch.manual_seed(0)
    layer = DiffPhi(6)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    target = torch.randn(4, 6, 3, 3)
    for _ in range(200):
        x = torch.randint(0, 2, (4, 6, 3, 3)) + 1e-3 * torch.randn(4, 6, 3, 3)
        optimizer.zero_grad()
        (layer(x) - target).square().mean().backward()
        assert all(torch.isfinite(p.grad).all() for p in layer.parameters())
        optimizer.step()
        assert ((layer.phi >= 1.2) & (layer.phi <= 2.0)).all()
    assert layer.phi_raw.grad.abs().max() > 0
    assert (layer.phi - 1.5).abs().max() > 1e-4


def test_gradient_lives_at_the_edge_of_the_range() -> None:
    layer = DiffPhi(3)
    with torch.no_grad():
        layer.phi_raw.copy_(torch.tensor([-5.0, 0, 5]))
    (layer(torch.randn(64, 3) ** 3) ** 3).sum().backward()
    assert (layer.phi_raw.grad.abs() > 0).all()
    assert layer.phi_raw.weight_decay_group == "phi"


def test_starts_at_init() -> None:
    assert torch.allclose(DiffPhi(3, init=1.7).phi, torch.tensor(1.7))


@pytest.mark.parametrize("given", [{"low": 0.9}, {"init": 2.5}, {"high": 20.0}, {"low": 1.5}])
def test_impossible_range_is_refused(given: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="does not hold"):
        DiffPhi(3, **given)
