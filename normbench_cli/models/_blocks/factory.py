"""The factory of a model's layers: an operation with its norm and activation, in the order that the norm requires.

The norm's placement determines the order: ``after`` gives op, norm, act; ``before`` gives norm, op, act (POP-Norm);
``weight`` wraps the op itself.  Models use only these methods, so they never ask which norm they were given.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from normbench_cli.models._blocks.graph import GraphSequence, PerGraph, PerNode, reject_degenerate_norm
from normbench_cli.registry import ACTIVATIONS, NORMS


class LayerFactory:
    """Makes the layers of one model from a norm spec (``popnorm:kappa=4``, ``ws+gn``) and an activation."""

    def __init__(self, norm: str = "batchnorm", act: str = "relu") -> None:
        self.norm, self.act = norm, act
        parsed = NORMS.parse_norm(norm)
        self._weight_norms = parsed.weight_norms
        self._data_norm = parsed.data_norm
        self._before = parsed.placement == "before"
        self._first = parsed.first
        self._of_graphs = parsed.graphs
        self._classifier = parsed.classifier
        self._removes_mean = parsed.removes_mean

    def activation(self) -> nn.Module:
        activation: nn.Module = ACTIVATIONS.build(self.act)
        return activation

    def conv_norm_act(
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
        """A convolution with its norm and activation; odd kernels keep the image's size at stride 1.

        act: False before a residual sum.  first: it reads the model's input, which a norm placed before may skip.
        bias: None lets the norm decide, since a norm after the op that removes the mean makes a bias redundant.
        """

        def op(with_bias: bool) -> nn.Module:
            return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=with_bias)

        return self._op_norm_act(op, inputs, outputs, act=act, first=first, bias=bias)

    def linear_norm_act(self, inputs: int, outputs: int, *, act: bool = True, first: bool = False) -> nn.Sequential:
        """A hidden linear layer with its norm and activation; arguments as for `conv_norm_act`."""

        def op(with_bias: bool) -> nn.Module:
            return nn.Linear(inputs, outputs, bias=with_bias)

        return self._op_norm_act(op, inputs, outputs, act=act, first=first)

    def classifier(self, inputs: int, classes: int) -> nn.Module:
        """The last linear layer.  No norm follows it, and one placed before precedes it unless `classifier=false`."""
        op = self.with_weight_norms(nn.Linear(inputs, classes), last=True)
        if self._before and self._classifier:
            return nn.Sequential(self._norm(inputs), op)
        return op

    def norm_act_conv(
        self, inputs: int, outputs: int, kernel: int, stride: int = 1, *, first: bool = False
    ) -> nn.Sequential:
        """A convolution in pre-activation order (DenseNet): norm, act, op; for a norm placed before, act, norm, op.

        The layer that reads its output normalizes it, so the bias follows the norm as in `conv_norm_act`.
        first: it reads the model's input, which is neither normalized nor activated.
        """
        op = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=self._bias())
        before = [] if first else [self.norm_act(inputs)]
        return nn.Sequential(*before, *self._norm_before(inputs, first), self.with_weight_norms(op))

    def norm_act(self, features: int) -> nn.Sequential:
        """Norm and activation without an operation, as at the end of a network in pre-activation order.

        With a norm placed before, which has no operation to precede, or a weight norm, only the activation is left.
        """
        return nn.Sequential(*self._norm_after(features), self.activation())

    def norm_alone(self, features: int) -> nn.Module:
        """The data norm without an operation, whatever its placement; the identity if there is none."""
        return self._norm(features) if self._data_norm else nn.Identity()

    def graph_op(
        self, op: Callable[[bool], nn.Module], inputs: int, outputs: int, *, act: bool = True, first: bool = False
    ) -> nn.Module:
        """A graph operation with its norm and activation, called with (x, batch).

        op: makes the operation; its argument says whether to have a bias.  act, first: as for `conv_norm_act`.
        """
        before = [self.graph_norm(inputs)] if self._before and (self._first or not first) else []
        after = [self.graph_norm(outputs)] if self._data_norm and not self._before else []
        end = [PerNode(self.activation())] if act else []
        return GraphSequence(*before, op(self._bias()), *after, *end)

    def graph_norm(self, features: int) -> nn.Module:
        """The norm of node features, called with (x, batch).  Norms that are meaningless for nodes are rejected."""
        spec = str(self._data_norm)
        with torch.device("cpu"):
            reject_degenerate_norm(NORMS.build(spec, num_features=features), features, spec, self._of_graphs)
        norm = NORMS.build(spec, num_features=features)
        return PerGraph(norm) if self._of_graphs else PerNode(norm)

    def with_weight_norms(self, op: nn.Module, *, last: bool = False) -> nn.Module:
        """The operation, wrapped in the weight norms of the spec.

        last: no norm follows the operation, so weight norms that rely on one are left out.
        """
        for spec in self._weight_norms:
            if last and spec.entry.facts.only_before_norms:
                continue
            op = NORMS.build(str(spec), op=op)
        return op

    def _op_norm_act(
        self,
        op: Callable[[bool], nn.Module],
        inputs: int,
        outputs: int,
        *,
        act: bool,
        first: bool,
        bias: bool | None = None,
    ) -> nn.Sequential:
        made = self.with_weight_norms(op(self._bias() if bias is None else bias))
        end = [self.activation()] if act else []
        return nn.Sequential(*self._norm_before(inputs, first), made, *self._norm_after(outputs), *end)

    def _bias(self) -> bool:
        """Whether an operation needs a bias: not if the norm after it removes the mean."""
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
        norm: nn.Module = NORMS.build(str(self._data_norm), num_features=features)
        return norm
