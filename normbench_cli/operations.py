"""What counts as an operation, everywhere: convolutions, transposed ones too, and linear layers."""

from __future__ import annotations

from torch import nn
from torch.nn.modules.conv import _ConvNd

Operation = _ConvNd | nn.Linear  # what has a weight that norms of weights wrap and that initialization fills


def in_features_of(op: nn.Module) -> int:
    """The channels or features that an operation takes."""
    return op.in_features if isinstance(op, nn.Linear) else int(op.in_channels)  # type: ignore[arg-type]


def out_features_of(op: nn.Module) -> int:
    """The channels or features that an operation returns."""
    return op.out_features if isinstance(op, nn.Linear) else int(op.out_channels)  # type: ignore[arg-type]
