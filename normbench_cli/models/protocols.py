"""What the name of a model stands for: a class made from `torch.nn.Module`, or a function that returns one."""

from __future__ import annotations

from typing import Protocol

from torch import nn


class ModelFactory(Protocol):
    """Makes a network for one data set.  The spec sets all further parameters, which need defaults."""

    def __call__(self, *, norm: str, act: str, num_classes: int, in_channels: int) -> nn.Module:
        """norm, act: specs, which `LayerFactory` turns into layers; in_channels: of an image, or features of a node.

        The network maps images (N, in_channels, H, W), or the batch of graphs of a data set, to scores
        (N, num_classes).  It is also built on torch's `meta` device, so it must not look at values while it is built.
        """
        ...
