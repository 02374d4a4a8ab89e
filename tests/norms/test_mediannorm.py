"""MedianNorm: torch's lower median, gradient to one value."""

import torch

from normbench_cli.norms.mediannorm import MedianNorm
from tests.norms.gradients import grad_of


def test_center_is_the_lower_median_and_evaluation_uses_it() -> None:
    layer = MedianNorm(1, momentum=1.0)
    x = torch.tensor([[1.0], [2], [3], [10]])
    y = layer(x)
    assert layer.running_mean.tolist() == [2]
    assert y[1] == 0
    assert torch.allclose(layer.running_var, (x - 2).square().mean())
    assert torch.allclose(layer.eval()(x), y)


def test_gradient_of_the_center_goes_to_one_of_tied_values() -> None:
    x = torch.tensor([[0.0], [1], [1], [1], [5]], requires_grad=True)
    layer = MedianNorm(1, eps=1e6)  # the scale is then all but constant, what is left is the gradient of the center
    (layer(x)[4] * 1e3).sum().backward()
    moved = (grad_of(x)[:4].abs() > 0.1).flatten().tolist()
    assert sum(moved) == 1
