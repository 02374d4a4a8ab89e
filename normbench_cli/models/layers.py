"""The builders that a model is given: an operation with its norm and activation, in the order the norm asks for.

A norm's placement decides: ``after`` gives op, norm, act; ``before`` gives norm, op, act (POP-Norm); ``weight`` wraps
the op itself.  A model is written in these builders alone, so it never asks which norm it got.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from normbench_cli.registry import ACTIVATIONS, NORMS, Spec


class Layers:
    """Makes the layers of one model from a norm spec (``popnorm:kappa=4``, ``ws+gn``) and an activation."""

    def __init__(self, norm: str = "batchnorm", act: str = "relu") -> None:
        self.norm, self.act = norm, act
        self._weight_norms: list[Spec] = []
        self._data_norm: Spec | None = None
        for spec in NORMS.parse_all(norm):
            if spec.entry.facts.get("placement") == "weight":
                self._weight_norms.append(spec)
            elif self._data_norm is None:
                self._data_norm = spec
            else:
                raise ValueError(f"'{norm}' joins two norms of data; one of data and any of weights can be joined")
        options = self._data_norm.params if self._data_norm else {}
        own = self._data_norm.entry.facts.get("placement", "after") if self._data_norm else "after"
        self._before = options.get("placement", own) == "before"
        self._first = options.get("first", True)
        self._classifier = options.get("classifier", True)
        self._removes_mean = bool(self._data_norm and self._data_norm.entry.facts.get("removes_mean"))

    def activation(self) -> nn.Module:
        return ACTIVATIONS.build(self.act)

    def conv(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        stride: int = 1,
        *,
        act: bool = True,
        groups: int = 1,
        first: bool = False,
        bias: bool | None = None,
    ) -> nn.Sequential:
        """A same-padded convolution with its norm and activation.

        act: False before a residual sum.  first: it sees the input itself, which a norm placed before may leave out.
        bias: None lets the norm decide, since one that removes the mean after the op makes the bias pointless.
        """

        def op(with_bias: bool) -> nn.Module:
            return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=with_bias)

        return self._assemble(op, inputs, outputs, act, before=self._first or not first, bias=bias)

    def linear(self, inputs: int, outputs: int, *, act: bool = True, first: bool = False) -> nn.Sequential:
        """A hidden linear layer with its norm and activation."""

        def op(with_bias: bool) -> nn.Module:
            return nn.Linear(inputs, outputs, bias=with_bias)

        return self._assemble(op, inputs, outputs, act, before=self._first or not first)

    def classifier(self, inputs: int, classes: int) -> nn.Module:
        """The last linear layer: no norm after it; one placed before only where the norm's option says so."""
        op = self._wrap(nn.Linear(inputs, classes))
        if self._before and self._classifier:
            return nn.Sequential(self._norm(inputs), op)
        return op

    def _assemble(
        self,
        op: Callable[[bool], nn.Module],
        inputs: int,
        outputs: int,
        act: bool,
        *,
        before: bool,
        bias: bool | None = None,
    ) -> nn.Sequential:
        after = not self._before
        parts = [] if after or not before else [self._norm(inputs)]
        parts.append(self._wrap(op(not (after and self._removes_mean) if bias is None else bias)))
        if after and self._data_norm:
            parts.append(self._norm(outputs))
        if act:
            parts.append(self.activation())
        return nn.Sequential(*parts)

    def _norm(self, features: int) -> nn.Module:
        return NORMS.build(str(self._data_norm), num_features=features)

    def _wrap(self, op: nn.Module) -> nn.Module:
        for spec in self._weight_norms:
            op = NORMS.build(str(spec), op=op)
        return op
