"""VGG-16 and VGG-19 for small images: stacks of 3x3 convolutions and one linear layer."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from normbench_cli.models._blocks.factory import LayerFactory
from normbench_cli.models._blocks.pooling import global_avg_pool
from normbench_cli.registry import MODELS
from normbench_cli.registry.bounds import Count

MULTIPLES = (1, 2, 4, 8, 8)  # of the first stage's channels
MIN_SIZE = 2 ** len(MULTIPLES)


class VGG(nn.Module):
    """Five stages of `depths` convolutions, each followed by a max-pool."""

    depths: ClassVar[tuple[int, ...]]

    def __init__(
        self,
        norm: str = "batchnorm",
        act: str = "relu",
        num_classes: int = 10,
        in_channels: int = 3,
        width: Count = 64,
    ) -> None:
        super().__init__()
        layers = LayerFactory(norm, act)
        self.stages = nn.Sequential()
        inputs = in_channels
        for stage, (multiple, depth) in enumerate(zip(MULTIPLES, self.depths, strict=True)):
            for number in range(depth):
                # the reference has biases even before norms, and they count as parameters
                conv = layers.conv_norm_act(inputs, multiple * width, 3, first=stage == number == 0, bias=True)
                self.stages.append(conv)
                inputs = multiple * width
            self.stages.append(nn.MaxPool2d(2))
        self.classifier = layers.classifier(inputs, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        height, width = x.shape[2:]
        if min(height, width) < MIN_SIZE:
            raise ValueError(
                f"{type(self).__name__} halves its images {len(MULTIPLES)} times: it needs at least "
                f"{MIN_SIZE}x{MIN_SIZE} pixels, and these are {height}x{width}"
            )
        scores: Tensor = self.classifier(global_avg_pool(self.stages(x)))  # of a single pixel if images are 32x32
        return scores


@MODELS.register("vgg16", paper="Simonyan & Zisserman 2015")
class VGG16(VGG):
    """VGG-16 for 32x32 images: 13 convolutions, 5 max-pools and one linear layer, 15 million parameters.

    width: channels of the first stage; the others have 2, 4, 8 and 8 times as many.
    """

    depths = (2, 2, 3, 3, 3)


@MODELS.register("vgg19", paper="Simonyan & Zisserman 2015")
class VGG19(VGG):
    """VGG-19 for 32x32 images: 16 convolutions, 5 max-pools and one linear layer, 20 million parameters.

    width: as for vgg16.
    """

    depths = (2, 2, 4, 4, 4)
