"""The input shapes of the norms in well-known networks, with counts, to profile what a norm costs in a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from normbench_cli.errors import UsageError
from normbench_cli.measure.contenders import NODES_PER_GRAPH
from normbench_cli.registry.spec import suggest

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Preset:
    """batch: its usual size.  counts: by the shape of one example, in network order; for graph networks by the features
    of a node.  source: of the network."""

    batch: int
    counts: Mapping[Shape, int]
    source: str
    graphs: bool = False

    def shapes(self, batch: int | None = None) -> dict[Shape, int]:
        """Counts by shape, for a batch of `batch` examples (the usual size by default)."""
        examples = (batch or self.batch) * (NODES_PER_GRAPH if self.graphs else 1)
        return {(examples, *shape): count for shape, count in self.counts.items()}


PRESETS = {
    "resnet18-cifar": Preset(
        128,
        {(64, 32, 32): 5, (128, 16, 16): 5, (256, 8, 8): 5, (512, 4, 4): 5},
        "ResNet-18 for images of 32x32, the model resnet18",
    ),
    "vgg16-cifar": Preset(
        128,
        {(64, 32, 32): 2, (128, 16, 16): 2, (256, 8, 8): 3, (512, 4, 4): 3, (512, 2, 2): 3},
        "VGG-16 for images of 32x32, the model vgg16",
    ),
    "resnet50-imagenet": Preset(
        32,
        {
            (64, 112, 112): 1,
            (64, 56, 56): 6,
            (256, 56, 56): 4,
            (128, 56, 56): 1,
            (128, 28, 28): 7,
            (512, 28, 28): 5,
            (256, 28, 28): 1,
            (256, 14, 14): 11,
            (1024, 14, 14): 7,
            (512, 14, 14): 1,
            (512, 7, 7): 5,
            (2048, 7, 7): 4,
        },
        "ResNet-50 of torchvision for images of 224x224",
    ),
    "gcn": Preset(128, {(64,): 4}, "the model gcn on graphs of 18 nodes, the mean of MUTAG", graphs=True),
}


def preset_shapes(name: str, batch: int | None = None) -> dict[Shape, int]:
    if name not in PRESETS:
        raise UsageError(f"there is no preset '{name}'", suggest(name, list(PRESETS)))
    return PRESETS[name].shapes(batch)
