"""The builders that a model is given: an operation with its norm and activation, in the order the norm asks for.

A norm's placement decides: ``after`` gives op, norm, act; ``before`` gives norm, op, act (POP-Norm); ``weight`` wraps
the op itself.  A model is written in these builders alone, so it never asks which norm it got.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from normbench_cli.models._blocks.graph import GraphSequence, PerGraph, PerNode, check_sees
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
        self._of_graphs = bool(self._data_norm and self._data_norm.entry.facts.get("graphs"))
        self._classifier = options.get("classifier", True) and not self._of_graphs  # it sees graphs, not their nodes
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

        return self._assemble(op, inputs, outputs, act=act, first=first, bias=bias)

    def linear(self, inputs: int, outputs: int, *, act: bool = True, first: bool = False) -> nn.Sequential:
        """A hidden linear layer with its norm and activation."""

        def op(with_bias: bool) -> nn.Module:
            return nn.Linear(inputs, outputs, bias=with_bias)

        return self._assemble(op, inputs, outputs, act=act, first=first)

    def classifier(self, inputs: int, classes: int) -> nn.Module:
        """The last linear layer: no norm after it; one placed before only where the norm's option says so."""
        op = self._wrap(nn.Linear(inputs, classes), last=True)
        if self._before and self._classifier:
            return nn.Sequential(self._norm(inputs), op)
        return op

    def preact_conv(
        self, inputs: int, outputs: int, kernel: int, stride: int = 1, *, first: bool = False
    ) -> nn.Sequential:
        """A convolution in pre-activation order (DenseNet): norm, act, op; for a norm placed before, act, norm, op.

        Whatever reads its output normalizes it, so the bias follows the norm as in `conv`.
        first: it sees the input itself, where there is nothing to activate.
        """
        op = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=self._bias())
        before = [] if first else [self.preact(inputs)]
        return nn.Sequential(*before, *self._norm_before(inputs, first), self._wrap(op))

    def preact(self, features: int) -> nn.Sequential:
        """Norm and activation alone, as at the end of a network in pre-activation order.

        A norm placed before has no operation to stand before here, and one of weights no weights: the activation stays.
        """
        return nn.Sequential(*self._norm_after(features), self.activation())

    def graph(
        self, op: Callable[[bool], nn.Module], inputs: int, outputs: int, *, act: bool = True, first: bool = False
    ) -> nn.Module:
        """An operation on nodes, called with (x, batch), with its norm and activation.  `op` is told whether to have a
        bias."""
        before = [self.graph_norm(inputs)] if self._before and (self._first or not first) else []
        after = [self.graph_norm(outputs)] if self._data_norm and not self._before else []
        end = [PerNode(self.activation())] if act else []
        return GraphSequence(*before, op(self._bias()), *after, *end)

    def graph_norm(self, features: int) -> nn.Module:
        """The norm for nodes, called with (x, batch) whatever it is; one that makes no sense there is refused."""
        spec = str(self._data_norm)
        with torch.device("cpu"):
            check_sees(NORMS.build(spec, num_features=features), features, spec, self._of_graphs)
        norm = NORMS.build(spec, num_features=features)
        return PerGraph(norm) if self._of_graphs else PerNode(norm)

    def weights(self, op: nn.Module) -> nn.Module:
        """The operation with the norms of weights."""
        return self._wrap(op)

    def _assemble(
        self,
        op: Callable[[bool], nn.Module],
        inputs: int,
        outputs: int,
        *,
        act: bool,
        first: bool,
        bias: bool | None = None,
    ) -> nn.Sequential:
        made = self._wrap(op(self._bias() if bias is None else bias))
        end = [self.activation()] if act else []
        return nn.Sequential(*self._norm_before(inputs, first), made, *self._norm_after(outputs), *end)

    def _bias(self) -> bool:
        """Whether an operation needs a bias: not if a norm after it takes it out again."""
        return self._before or not self._removes_mean

    def _norm_before(self, features: int, first: bool) -> list[nn.Module]:
        return [self._norm(features)] if self._before and (self._first or not first) else []

    def _norm_after(self, features: int) -> list[nn.Module]:
        return [self._norm(features)] if self._data_norm and not self._before else []

    def _norm(self, features: int) -> nn.Module:
        if self._of_graphs:
            raise ValueError(
                f"norm '{self._data_norm}' takes its statistics over the nodes of a graph: use it with gcn or gin"
            )
        return NORMS.build(str(self._data_norm), num_features=features)

    def _wrap(self, op: nn.Module, *, last: bool = False) -> nn.Module:
        """The op with the norms of weights; no norm follows the last one, so those that count on one leave it alone."""
        for spec in self._weight_norms:
            if last and spec.entry.facts.get("only_before_norms"):
                continue
            op = NORMS.build(str(spec), op=op)
        return op
