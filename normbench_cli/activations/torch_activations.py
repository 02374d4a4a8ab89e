"""Torch's activation functions, with bounds for their parameters, which torch does not state."""

from torch import nn

from normbench_cli.registry import ACTIVATIONS
from normbench_cli.registry.bounds import Finite

ACTIVATIONS.register("relu", summary="max(x, 0)", init="kaiming")(nn.ReLU)
ACTIVATIONS.register("sigmoid", summary="1 / (1 + exp(-x))", init="xavier")(nn.Sigmoid)
ACTIVATIONS.register("tanh", summary="hyperbolic tangent", init="xavier")(nn.Tanh)
ACTIVATIONS.register(
    "leaky_relu", summary="x above 0, negative_slope x below", init="kaiming", bounds={"negative_slope": {"least": 0}}
)(nn.LeakyReLU)
ACTIVATIONS.register(
    "elu", summary="x above 0, alpha (exp(x) - 1) below", init="kaiming", bounds={"alpha": {"least": 0}}
)(nn.ELU)
ACTIVATIONS.register(
    "celu", summary="x above 0, alpha (exp(x / alpha) - 1) below", init="kaiming", bounds={"alpha": {"least": 0.001}}
)(nn.CELU)
ACTIVATIONS.register("selu", summary="scaled ELU with a fixed point at mean 0, variance 1", init="kaiming")(nn.SELU)
ACTIVATIONS.register(
    "gelu",
    summary="x times the standard normal distribution function",
    init="kaiming",
    bounds={"approximate": {"one_of": ("none", "tanh")}},
)(nn.GELU)
ACTIVATIONS.register("silu", aliases=("swish",), summary="x sigmoid(x)", init="kaiming")(nn.SiLU)
ACTIVATIONS.register("mish", summary="x tanh(softplus(x))", init="kaiming")(nn.Mish)
ACTIVATIONS.register("hardswish", summary="SiLU with a piecewise linear sigmoid", init="kaiming")(nn.Hardswish)
ACTIVATIONS.register(
    "softplus",
    summary="log(1 + exp(x))",
    init="kaiming",
    bounds={"beta": {"least": 0.001, "most": 1000}, "threshold": {"least": 0}},
)(nn.Softplus)
ACTIVATIONS.register("logsigmoid", summary="log(sigmoid(x))", init="xavier")(nn.LogSigmoid)
ACTIVATIONS.register("hardsigmoid", summary="a piecewise linear sigmoid", init="xavier")(nn.Hardsigmoid)
ACTIVATIONS.register("tanhshrink", summary="x - tanh(x)", init="xavier")(nn.Tanhshrink)
ACTIVATIONS.register("softsign", summary="x / (1 + |x|)", init="xavier")(nn.Softsign)
ACTIVATIONS.register("relu6", summary="ReLU clipped at 6", init="kaiming")(nn.ReLU6)
ACTIVATIONS.register("identity", aliases=("linear",), summary="x: no activation", init="xavier")(nn.Identity)


@ACTIVATIONS.register("hardtanh", init="xavier")
class Hardtanh(nn.Hardtanh):
    """x clipped to [-1, 1]

    Torch's, without its deprecated parameters.  min_val, max_val: the ends of the range, instead of -1 and 1.
    """

    def __init__(self, min_val: Finite = -1.0, max_val: Finite = 1.0, inplace: bool = False) -> None:
        if min_val >= max_val:
            raise ValueError(f"min_val is {min_val:g} and max_val {max_val:g}; give a max_val above min_val")
        super().__init__(min_val, max_val, inplace)


@ACTIVATIONS.register("prelu", init="kaiming", bounds={"init": {"least": 0}})
class PReLU(nn.PReLU):
    """x above 0, a learned slope times x below

    Torch's, with one slope for all channels: an activation is built before its channels are known.  init: the slope's
    initial value.
    """

    def __init__(self, init: float = 0.25) -> None:
        super().__init__(num_parameters=1, init=init)
