"""Torch's activation functions."""

from torch import nn

from normbench_cli.registry import ACTIVATIONS

ACTIVATIONS.register("relu", summary="max(x, 0)", init="kaiming")(nn.ReLU)
ACTIVATIONS.register("sigmoid", summary="1 / (1 + exp(-x))", init="xavier")(nn.Sigmoid)
ACTIVATIONS.register("tanh", summary="hyperbolic tangent", init="xavier")(nn.Tanh)
ACTIVATIONS.register("leaky_relu", summary="x above 0, negative_slope x below", init="kaiming")(nn.LeakyReLU)
ACTIVATIONS.register("elu", summary="x above 0, alpha (exp(x) - 1) below", init="kaiming")(nn.ELU)
ACTIVATIONS.register("selu", summary="scaled ELU with a fixed point at mean 0, variance 1", init="kaiming")(nn.SELU)
ACTIVATIONS.register("gelu", summary="x times the standard normal distribution function", init="kaiming")(nn.GELU)
ACTIVATIONS.register("silu", aliases=("swish",), summary="x sigmoid(x)", init="kaiming")(nn.SiLU)
ACTIVATIONS.register("mish", summary="x tanh(softplus(x))", init="kaiming")(nn.Mish)
ACTIVATIONS.register("hardswish", summary="SiLU with a piecewise linear sigmoid", init="kaiming")(nn.Hardswish)
ACTIVATIONS.register("softplus", summary="log(1 + exp(x))", init="kaiming")(nn.Softplus)
ACTIVATIONS.register("softsign", summary="x / (1 + |x|)", init="xavier")(nn.Softsign)
ACTIVATIONS.register("hardtanh", summary="x clipped to [-1, 1]", init="xavier")(nn.Hardtanh)
ACTIVATIONS.register("relu6", summary="ReLU clipped at 6", init="kaiming")(nn.ReLU6)
ACTIVATIONS.register("identity", aliases=("linear",), summary="x: no activation", init="xavier")(nn.Identity)
