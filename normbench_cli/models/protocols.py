"""What a model's name refers to: a subclass of `torch.nn.Module`, or a function that returns a module."""

from __future__ import annotations

from typing import Protocol

from torch import nn


class ModelFactory(Protocol):
    """Makes a network for one data set.  All further parameters are set by the spec and need defaults."""

    def __call__(self, *, norm: str, act: str, num_classes: int, in_channels: int) -> nn.Module:
        """norm, act: specs, which `LayerFactory` turns into layers; in_channels: of an image, or features of a node.

        The network maps images (N, in_channels, H, W), or a data set's batch of graphs, to logits (N, num_classes).
        It is also built on torch's `meta` device, so its constructor must not read tensor values.
        """
        ...
