"""POP-Norm with sigmoid and weights 2W is POP-Norm with tanh and weights W, in a network without shortcuts.

For sigmoid(z) = (1 + tanh(z / 2)) / 2, and POP-Norm removes mean and scale.  So equal weights are no equal choice.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from normbench_cli.models import MODELS
from normbench_cli.norms import POPNorm
from normbench_cli.operations import Operation

NORM = "popnorm:eps=0,momentum=1"  # exactly; and running statistics that one batch determines


def pair(model: str) -> tuple[nn.Module, nn.Module, dict[str, float]]:
    """The network with sigmoid, that with tanh, and by name the first one's parameters as multiples of the other's.

    Operations before an activation have twice the weights and biases; beta, in units of an activation, is half as
    large, except in the first layer, which sees the image.
    """
    torch.manual_seed(0)
    sigmoid, tanh = (
        MODELS.build(model, norm=NORM, act=act, num_classes=5, in_channels=2).double() for act in ("sigmoid", "tanh")
    )
    hidden = [name for name, module in tanh.named_modules() if isinstance(module, Operation)][:-1]
    norms = [name for name, module in tanh.named_modules() if isinstance(module, POPNorm)]
    factors = dict.fromkeys((name for name, _ in tanh.named_parameters()), 1.0)
    factors |= {f"{name}.{part}": 2.0 for name in hidden for part in ("weight", "bias")}
    factors |= {f"{name}.bias": 0.5 for name in norms[1:]}
    with torch.no_grad():
        for (name, first), second in zip(sigmoid.named_parameters(), tanh.parameters(), strict=True):
            if name.rpartition(".")[0] in norms:
                second.copy_(torch.rand_like(second) + 0.5)
            elif second.ndim > 1:
                nn.init.xavier_normal_(second, gain=3)  # so that the activations leave their linear part
            first.copy_(factors[name] * second)
    return sigmoid, tanh, factors


def gradients(net: nn.Module, x: Tensor) -> dict[str, Tensor]:
    net(x).square().sum().backward()
    return {name: parameter.grad for name, parameter in net.named_parameters() if parameter.grad is not None}


@pytest.mark.parametrize("model", ["mlp:size=4,width=8,depth=3", pytest.param("vgg16", marks=pytest.mark.slow)])
def test_sigmoid_with_twice_the_weights_is_tanh(model: str) -> None:
    sigmoid, tanh, factors = pair(model)
    size = 4 if model.startswith("mlp") else 32
    x = torch.randn(6, 2, size, size, dtype=torch.float64)
    torch.testing.assert_close(sigmoid(x), tanh(x), rtol=1e-5, atol=1e-5)
    of_sigmoid, of_tanh = gradients(sigmoid, x), gradients(tanh, x)
    assert of_sigmoid.keys() == factors.keys()
    for name, factor in factors.items():
        scale = of_tanh[name].abs().max().item()
        torch.testing.assert_close(factor * of_sigmoid[name], of_tanh[name], rtol=1e-5, atol=1e-5 * scale, msg=name)
    torch.testing.assert_close(sigmoid.eval()(x), tanh.eval()(x), rtol=1e-5, atol=1e-5)


def test_with_equal_weights_sigmoid_is_not_tanh() -> None:
    sigmoid, tanh, _ = pair("mlp:size=4,width=8,depth=3")
    sigmoid.load_state_dict(tanh.state_dict())
    x = torch.randn(6, 2, 4, 4, dtype=torch.float64)
    assert (sigmoid(x) - tanh(x)).abs().max() > 0.01
