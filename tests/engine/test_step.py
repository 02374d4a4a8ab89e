"""The training step: gradients do not add up, the objective decides, and mixed precision changes only rounding."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normbench_cli.engine.compiled import Compiled
from normbench_cli.engine.step import Learner, set_learning_rate, train_step

INPUTS = torch.randn(8, 3, generator=torch.Generator().manual_seed(0))
LABELS = torch.arange(8) % 2


def make(**values: Any) -> Learner:
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    given = {"objective": torch.mean, "optimizer": torch.optim.SGD(model.parameters(), 0.5), **values}
    return Learner(model=model, device=torch.device("cpu"), **given)


def weights_after(steps: int, **values: Any) -> Tensor:
    learner = make(**values)
    for _ in range(steps):
        train_step(learner, INPUTS, LABELS)
    return learner.model.get_parameter("weight").detach()


@pytest.mark.parametrize("objective", [torch.mean, torch.max])
def test_steps_equal_steps_in_plain_torch(objective: Any) -> None:
    model = make().model
    optimizer = torch.optim.SGD(model.parameters(), 0.5)
    for _ in range(2):
        optimizer.zero_grad()
        objective(nn.functional.cross_entropy(model(INPUTS), LABELS, reduction="none")).backward()
        optimizer.step()
    assert torch.equal(weights_after(2, objective=objective), model.get_parameter("weight"))


def test_losses_and_logits_are_those_before_the_step_and_need_no_gradient() -> None:
    learner = make()
    expected = learner.model(INPUTS).detach()
    losses, logits = train_step(learner, INPUTS, LABELS)
    assert torch.equal(logits, expected)
    torch.testing.assert_close(losses, nn.functional.cross_entropy(expected, LABELS, reduction="none"))
    assert not losses.requires_grad
    assert not logits.requires_grad


@pytest.mark.parametrize("amp", ["bf16", "fp16"])
def test_mixed_precision_computes_in_it_and_gives_float32(amp: str) -> None:
    learner, seen = make(amp=amp), list[torch.dtype]()
    learner.model.register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
    assert learner.logits(INPUTS).dtype == torch.float32
    assert seen == [{"bf16": torch.bfloat16, "fp16": torch.float16}[amp]]
    torch.testing.assert_close(weights_after(1, amp=amp), weights_after(1), rtol=0.02, atol=0.01)


def test_only_fp16_scales_the_loss_and_leaves_out_a_step_that_overflows() -> None:
    assert [make(amp=amp).scaler.is_enabled() for amp in ("off", "bf16", "fp16")] == [False, False, True]
    learner = make(amp="fp16")
    before, scale = learner.model.get_parameter("weight").detach().clone(), learner.scaler.get_scale()
    train_step(learner, INPUTS * torch.inf, LABELS)
    assert torch.equal(learner.model.get_parameter("weight"), before)
    assert learner.scaler.get_scale() == scale / 2


def test_only_a_learner_with_a_shape_is_compiled() -> None:
    assert make().forward is not make(compiled_for=(8, 3)).forward
    plain, compiled = make(), make(compiled_for=(8, 3))
    assert plain.forward is plain.model
    assert isinstance(compiled.forward, Compiled)
    assert compiled.forward.shape == (8, 3)


def test_every_parameter_group_gets_the_learning_rate_of_the_schedule() -> None:
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD([{"params": [p], "lr": 9.0} for p in model.parameters()])
    set_learning_rate(optimizer, 0.5, lambda progress: 1 - progress**2, progress=0.5)
    assert [group["lr"] for group in optimizer.param_groups] == [0.375, 0.375]
