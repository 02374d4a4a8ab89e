"""The trained network of a finished run, with the preprocessing of its images: `nb.load_model()`."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from normbench_cli import build
from normbench_cli.datasets._images.batches import Standardize
from normbench_cli.engine.protocols import ImageData
from normbench_cli.experiments.recorded import Packages, with_own_packages
from normbench_cli.experiments.result import RunResult, run_id_of
from normbench_cli.experiments.trained import load_trained
from normbench_cli.store import Store


class Preprocess:
    """Convert images to the standardized inputs that a network was trained on and is evaluated with.

    Images are (N, C, H, W) or (C, H, W), of the data set's size: uint8, or floats from 0 to 1.
    """

    def __init__(self, data: ImageData, device: torch.device, *, channels_last: bool) -> None:
        self.shape = data.shape
        self._device = device
        self._standardize = Standardize(data.mean, data.std, device)
        self._memory_format = torch.channels_last if channels_last else torch.contiguous_format

    def __call__(self, images: Tensor) -> Tensor:
        single = images.ndim == len(self.shape)
        batch = images.unsqueeze(0) if single else images
        if batch.shape[1:] != self.shape:
            raise ValueError(f"images of shape {tuple(images.shape)} are not N x {' x '.join(map(str, self.shape))}")
        pixels = batch.to(self._device)
        if pixels.is_floating_point():
            pixels = pixels * 255
        return self._standardize(pixels).contiguous(memory_format=self._memory_format)


def load_model(
    run: str | RunResult,
    db: str | None = None,
    *,
    device: str = "auto",
    force: bool = False,
    allow: Packages = (),
) -> nn.Module:
    """Load the trained network of a finished run, in eval mode, with the weights of its last checkpoint.

    Its attribute `preprocess` turns images (uint8, or floats from 0 to 1) into the network's inputs.
    run: an id, a prefix of one, or a result of `train`.  device: auto, cpu, cuda, ...
    force: load it even if the data set of that name has changed; `preprocess` then uses the new one.
    allow: packages that the run may load external components from.

    >>> net = nb.load_model("d322c4f1")
    >>> net(net.preprocess(images)).argmax(1)
    """
    with Store.open(db, write=False) as store:
        run_id = store.find(run_id_of(run)).id
        config, training = load_trained(run_id, store, device, with_own_packages(run, allow), force=force)
    model = training.model.eval()
    data = build.load_images(config.data)
    model.preprocess = Preprocess(data, training.device, channels_last=bool(config.channels_last))  # type: ignore[assignment]
    return model
