"""A run made of components from outside, from the command line: every kind that a spec can name."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import RunCommand

COMPONENTS = '''
from types import SimpleNamespace
import torch
from torch import nn

class Noise:
    """Noise with labels; it inherits from nothing."""
    classes, mean, std, group_names, validation = 2, (0.5,), (0.25,), (), None

    def __init__(self, size: int = 8):
        self.channels, self.shape = 1, (1, size, size)
        self.train, self.test = torch.arange(32), torch.arange(16)

    def batches(self, split, batch_size, device, *, shuffle_seed=None, channels_last=False, workers=0):
        return Batches(split, batch_size, self.shape)

class Batches:
    def __init__(self, split, batch_size, shape):
        self.split, self.batch_size, self.shape = split, batch_size, shape

    def __len__(self):
        return len(self.split) // self.batch_size

    def epoch(self, number=0, first=0):
        for chosen in list(self.split.split(self.batch_size))[first:]:
            inputs = chosen.float().sin().view(-1, 1, 1, 1).expand(-1, *self.shape)
            yield SimpleNamespace(inputs=inputs.contiguous(), labels=chosen % 2, groups=None)

def numbers():
    """No data set."""
    return [1, 2]

def flat(norm: str, act: str, num_classes: int, in_channels: int, side: int = 8):
    """A linear model."""
    return nn.Sequential(nn.Flatten(), nn.Linear(in_channels * side * side, num_classes))

def half(progress: float, rate: float = 0.5) -> float:
    """Half the rate."""
    return rate

class Worst(nn.Module):
    """The largest loss."""
    def forward(self, losses):
        return losses.max()

def shift(model, x, y, by: float = 0.1):
    """Brighter images."""
    return x + by
'''


@pytest.fixture(autouse=True)
def theirs(tmp_path: Path) -> Iterator[None]:
    (tmp_path / "their_run.py").write_text(COMPONENTS)
    yield
    sys.modules.pop("their_run", None)


def test_a_run_of_outside_components_is_recorded_by_their_names(normbench: RunCommand) -> None:
    words = ["--data", "their_run:Noise", "--model", "their_run:flat", "--schedule", "their_run:half:rate=0.25"]
    trained = normbench(
        "train", *words, "--objective", "their_run:Worst", "--epochs", "1", "--batch-size", "8", "--json"
    )
    assert trained.code == 0, trained.err
    (run,) = json.loads(trained.out)["runs"]
    assert (run["status"], run["config"]["data"]) == ("finished", "their_run:Noise")
    assert run["config"]["schedule"] == "their_run:half:rate=0.25"

    scored = normbench("eval", run["id"], "--allow", "their_run", "--attack", "their_run:shift:by=0", "--json")
    assert scored.code == 0, scored.err
    metrics = json.loads(scored.out)["runs"][0]["metrics"]
    assert metrics["test/accuracy@their_run:shift:by=0"] == metrics["test/accuracy"]
    assert not [name for name in metrics if "clip_only" in name]
    assert normbench("eval", run["id"], "--attack", "their_run:shift").code == 0


def test_what_is_not_a_data_set_is_refused_with_what_it_lacks(normbench: RunCommand) -> None:
    refused = normbench("train", "--data", "their_run:numbers", "--model", "mlp", "--epochs", "1")
    assert refused.code == 2
    assert "data set 'their_run:numbers' is a list, which has no batches, channels, classes" in refused.err
