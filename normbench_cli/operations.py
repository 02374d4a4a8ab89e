"""Operations, as the term is used everywhere: convolutions, including transposed ones, and linear layers."""

from __future__ import annotations

from torch import nn
from torch.nn.modules.conv import _ConvNd

Operation = _ConvNd | nn.Linear  # their weights are wrapped by weight norms and set by initialization


def in_features_of(op: nn.Module) -> int:
    """The number of input channels or features of an operation."""
    return op.in_features if isinstance(op, nn.Linear) else int(op.in_channels)  # type: ignore[arg-type]


def out_features_of(op: nn.Module) -> int:
    """The number of output channels or features of an operation."""
    return op.out_features if isinstance(op, nn.Linear) else int(op.out_channels)  # type: ignore[arg-type]
