"""Initial weights: the gain is a factor of all of them, and nothing else changes."""

from __future__ import annotations

import torch

from normbench_cli import build
from normbench_cli.build.init import initialize
from normbench_cli.config import make_config


def test_the_gain_multiplies_the_weights_of_every_operation() -> None:
    settings = {"data": "digits:size=8", "model": "mlp:size=8,width=16", "norm": "none"}
    data = build.load_images("digits:size=8")
    weights = []
    for gain in (1.0, 2.5):
        config = make_config(settings | {"init_gain": gain})
        model = build.make_model(config, data)
        initialize(model, config)
        weights.append([module.weight.detach() for module in model.modules() if isinstance(module, torch.nn.Linear)])
    assert len(weights[0]) > 1
    for plain, scaled in zip(*weights, strict=True):
        torch.testing.assert_close(scaled, 2.5 * plain)
