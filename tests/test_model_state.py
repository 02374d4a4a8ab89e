"""A model is left as it was: modes, buffers and random generators, also after an error."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from normbench_cli.model_state import preserve_state

CPU = torch.device("cpu")


def test_modes_buffers_and_generators_are_restored() -> None:
    model = nn.Sequential(nn.BatchNorm1d(2), nn.Dropout().eval())
    before = {name: value.clone() for name, value in model.state_dict().items()}
    torch.manual_seed(1)
    with preserve_state(model, CPU):
        model.train()(torch.randn(8, 2))
        assert not torch.equal(model.state_dict()["0.running_mean"], before["0.running_mean"])
    assert [module.training for module in model.modules()] == [True, True, False]
    torch.testing.assert_close(model.state_dict(), before, rtol=0, atol=0)
    drawn = torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(drawn, torch.rand(1))


def test_they_are_restored_after_an_error() -> None:
    model = nn.BatchNorm1d(2).train()

    def fail() -> None:
        with preserve_state(model):
            model.eval()
            model.register_buffer("running_mean", torch.ones(2))  # another tensor under the same name
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert model.training
    assert model.get_buffer("running_mean").tolist() == [0, 0]
