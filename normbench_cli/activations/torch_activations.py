"""Torch's activation functions under their usual names."""

from torch import nn

from normbench_cli.registry import ACTIVATIONS

ACTIVATIONS.register("relu", summary="max(x, 0)", gain="kaiming")(nn.ReLU)
ACTIVATIONS.register("sigmoid", summary="1 / (1 + exp(-x))", gain="xavier")(nn.Sigmoid)
ACTIVATIONS.register("tanh", summary="hyperbolic tangent", gain="xavier")(nn.Tanh)
ACTIVATIONS.register("leaky_relu", summary="x above 0, negative_slope x below", gain="kaiming")(nn.LeakyReLU)
ACTIVATIONS.register("elu", summary="x above 0, alpha (exp(x) - 1) below", gain="kaiming")(nn.ELU)
ACTIVATIONS.register("selu", summary="scaled ELU with a fixed point at mean 0, variance 1", gain="kaiming")(nn.SELU)
ACTIVATIONS.register("gelu", summary="x times the normal distribution function", gain="kaiming")(nn.GELU)
ACTIVATIONS.register("silu", aliases=("swish",), summary="x sigmoid(x)", gain="kaiming")(nn.SiLU)
ACTIVATIONS.register("mish", summary="x tanh(softplus(x))", gain="kaiming")(nn.Mish)
ACTIVATIONS.register("hardswish", summary="SiLU in straight pieces", gain="kaiming")(nn.Hardswish)
ACTIVATIONS.register("softplus", summary="log(1 + exp(x))", gain="kaiming")(nn.Softplus)
ACTIVATIONS.register("softsign", summary="x / (1 + |x|)", gain="xavier")(nn.Softsign)
ACTIVATIONS.register("hardtanh", summary="x cut to [-1, 1]", gain="xavier")(nn.Hardtanh)
ACTIVATIONS.register("relu6", summary="ReLU cut at 6", gain="kaiming")(nn.ReLU6)
ACTIVATIONS.register("identity", aliases=("linear",), summary="x: no activation", gain="xavier")(nn.Identity)
