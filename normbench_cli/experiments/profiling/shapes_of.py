"""`--shapes-of MODEL`: the input shapes of a model's norms on its data, with counts.

One forward pass shows them: for images on torch's `meta` device, where it costs nothing, for graphs on the CPU.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from normbench_cli import build
from normbench_cli.config import RunConfig, make_config
from normbench_cli.datasets._images.torchvision_compat import import_torchvision
from normbench_cli.engine.protocols import GraphData, ImageData
from normbench_cli.errors import UsageError, first_sentence
from normbench_cli.experiments.profiling.presets import Shape
from normbench_cli.measure.norm_shapes import TORCH_NORMS, norm_shapes
from normbench_cli.registry import MODELS
from normbench_cli.registry.outside import import_component
from normbench_cli.registry.trust import USER

GRAPHS_OF_THE_USER = "toy_graphs"  # for a graph model, unless --data is given


def shapes_of(model: str, settings: dict[str, object]) -> dict[Shape, int]:
    """Counts by shape, for a batch of the settings' size, with the norm `batchnorm`.

    model: a registered name with its parameters; or ``package.module:function``, which is called without arguments and
    returns a model of images; ``@3x224x224`` at the end overrides the image size of the data.
    """
    name, _, size = model.partition("@")
    image = parse_image(size) if size else None
    if MODELS.outside(name):
        found = shapes_of_outside(name, image or (3, 224, 224), int(str(settings.get("batch_size") or 32)))
    else:
        graphs = MODELS.parse(name).entry.facts.graphs
        if graphs and image:
            raise UsageError(f"{name} takes graphs and cannot take images of {size}", f"write {name}, and --data")
        data = settings.get("data") or (GRAPHS_OF_THE_USER if graphs else None)
        values = {**settings, "model": name, "norm": "batchnorm"} | ({"data": data} if data else {})
        found = shapes_of_model(make_config(values, USER), image)
    if not found:
        raise UsageError(f"{model} calls no norm", "choose a model with norms, or give --shape")
    return found


def parse_image(text: str) -> Shape:
    sizes = text.lower().split("x")
    if not all(size.isascii() and size.isdigit() and int(size) for size in sizes):
        raise UsageError(f"'{text}' is not the size of an image", "write channels x height x width, like 3x224x224")
    return tuple(map(int, sizes))


def shapes_of_model(config: RunConfig, image: Shape | None) -> dict[Shape, int]:
    data = build.load_data(config.data) if image is None else None
    if isinstance(data, GraphData):
        network = build.make_model(config, data).eval()
        graphs, _ = data.to(torch.device("cpu")).batch(torch.arange(min(config.batch_size, len(data))))
        return norm_shapes(network, lambda: network(graphs))
    shape = data.shape if isinstance(data, ImageData) else image or ()
    try:
        with torch.device("meta"):
            network = build.make_model(config, data or Pictures(channels=shape[0]))
            return norm_shapes(network, lambda: network(torch.zeros(config.batch_size, *shape)))
    except (ValueError, RuntimeError, IndexError) as error:
        size = "x".join(map(str, shape))
        raise UsageError(
            f"{config.model} cannot take images of {size}: {first_sentence(error)}", "give another size after the @"
        ) from error


@dataclass(frozen=True)
class Pictures:
    """What a model has to know about the data, when none are loaded."""

    channels: int
    classes: int = 10


def shapes_of_outside(name: str, image: Shape, batch: int) -> dict[Shape, int]:
    """Counts by shape for a model from another package, with that package's norms."""
    if name.startswith("torchvision."):
        import_torchvision()
    make = import_component("model", name)
    try:
        with torch.device("meta"):
            network = make()  # type: ignore[operator]
            assert isinstance(network, nn.Module)
            return norm_shapes(network, lambda: network(torch.zeros(batch, *image)), TORCH_NORMS)
    except Exception as error:  # of any kind
        raise UsageError(
            f"{name} cannot be run on images of {'x'.join(map(str, image))}: {first_sentence(error)}",
            "name a function that makes a model without arguments, and give the size: name@3x224x224",
        ) from error
