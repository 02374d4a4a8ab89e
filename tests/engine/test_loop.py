"""Training: the same seed gives the same numbers, divergence is seen, steps and probes are counted right."""

from __future__ import annotations

import io
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normbench_cli.build import make_training, resolve
from normbench_cli.config import make_config
from normbench_cli.engine.events import Diverged, Notice, Progress, Record
from normbench_cli.engine.loop import fit
from normbench_cli.engine.training import Training

TINY: dict[str, Any] = {"data": "digits:size=8", "batch_size": 256, "model": "mlp:size=8,width=16"}
PLAIN: dict[str, Any] = {"norm": "batchnorm", "epochs": 1, "schedule": "constant", "lr": 0.05}


def make(**settings: Any) -> Training:
    return make_training(resolve(make_config(TINY | settings)))


def metrics_of(training: Training) -> list[dict[str, float]]:
    """The results of each epoch: losses and accuracies, no times."""
    return [results(event.metrics) for event in fit(training) if isinstance(event, Record) and event.epoch]


def results(metrics: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if name.startswith(("train/", "test/"))}


def test_the_same_config_gives_the_same_numbers_to_the_last_digit() -> None:
    first, again = (metrics_of(make(epochs=2)) for _ in range(2))
    assert first == again


def test_another_seed_gives_other_numbers() -> None:
    assert metrics_of(make(iterations=2)) != metrics_of(make(iterations=2, seed=1))


def test_workers_do_not_change_the_numbers() -> None:
    assert metrics_of(make(iterations=2, workers=2)) == metrics_of(make(iterations=2))


def test_a_run_equals_a_loop_in_plain_torch() -> None:
    loss, accuracy = plain_run(steps=6)
    (metrics,) = metrics_of(make(**PLAIN))
    assert metrics["train/loss"] == pytest.approx(loss, rel=1e-4)
    assert metrics["test/accuracy"] == pytest.approx(accuracy, abs=0.003)


def plain_run(steps: int) -> tuple[float, float]:
    """The run above written out: same data, weights and order, with none of the engine's code."""
    training = make(**PLAIN)
    net, optimizer = training.model, torch.optim.SGD(training.model.parameters(), 0.05, 0.9, weight_decay=5e-4)
    total = count = 0.0
    net.train()
    for step, (x, y) in enumerate((batch.inputs, batch.labels) for batch in training.train.epoch(1)):
        assert step < steps
        loss = torch.nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total, count = total + loss.item() * len(y), count + len(y)
    net.eval()
    with torch.no_grad():
        right = torch.cat([net(batch.inputs).argmax(1) == batch.labels for batch in training.test.epoch()])
    return total / count, right.double().mean().item()


def test_iterations_can_end_within_an_epoch() -> None:
    records = [event for event in fit(make(iterations=8)) if isinstance(event, Record)]
    assert [(record.epoch, record.step) for record in records] == [(None, 0), (1, 6), (2, 8)]
    assert [len(record.series["train/loss"]) for record in records[1:]] == [6, 2]
    assert all(milliseconds > 0 for record in records[1:] for milliseconds in record.series["step_time_ms"])


def test_a_loss_that_is_not_finite_ends_the_run_after_its_record() -> None:
    events: list[Progress | Record | Notice] = []
    with pytest.raises(Diverged) as stop:
        events.extend(fit(make(norm="none", lr=1e30, epochs=3)))  # what came before stays in the list
    last = events[-1]
    assert isinstance(last, Record)
    assert not math.isfinite(last.metrics["train/loss"])
    losses = last.series["train/loss"]
    assert not math.isfinite(losses[stop.value.step - 1])
    assert all(map(math.isfinite, losses[: stop.value.step - 1]))


def test_counting_saved_bytes_leaves_the_model_as_it_was() -> None:
    training = make(model="resnet20")
    before = {name: value.clone() for name, value in training.model.state_dict().items()}
    torch.manual_seed(3)
    first = next(iter(fit(training)))
    assert isinstance(first, Record)
    assert first.metrics["saved_activation_bytes"] > 1e6
    torch.testing.assert_close(training.model.state_dict(), before, rtol=0, atol=0)
    drawn = torch.rand(1)
    torch.manual_seed(3)
    assert torch.equal(drawn, torch.rand(1))


class CallCounter(nn.Module):
    """A layer that counts its calls as a solver would, but not in a buffer."""

    calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x

    def solver_statistics(self) -> dict[str, Tensor]:
        return dict.fromkeys(("iterations_mean", "iterations_max", "unconverged", "residual"), torch.tensor(self.calls))

    def reset_solver_statistics(self) -> None:
        self.calls = 0


def test_counting_saved_bytes_does_not_count_as_a_call_of_a_solver() -> None:
    training, counter = make(), CallCounter()
    training.model = nn.Sequential(training.model, counter)
    next(iter(fit(training)))
    assert counter.calls == 0


def test_equal_seeds_begin_with_equal_weights_whatever_the_norm() -> None:
    def weights(norm: str) -> list[Tensor]:
        return [
            module.weight
            for module in make(model="resnet20", norm=norm).model.modules()
            if isinstance(module, nn.Conv2d)
        ]

    torch.testing.assert_close(weights("none"), weights("batchnorm"))


class ProbeOfSteps:
    """Keeps, for each step, its number, the steps that the optimizer had made, and the learning rate."""

    def __init__(self, training: Training) -> None:
        self.training = training
        self.seen: list[tuple[int, int, float]] = []

    def after_step(self, step: int) -> None:
        group = self.training.optimizer.param_groups[0]
        made = self.training.optimizer.state[group["params"][0]]["step"]
        self.seen.append((step, int(made), group["lr"]))

    def read(self) -> tuple[dict[str, float], dict[str, list[float]]]:
        return {"probed": float(len(self.seen))}, {"probed": [float(step) for step, _, _ in self.seen]}


def test_probes_and_learning_rate_are_those_of_the_step() -> None:
    training = make(optimizer="adam", lr=0.4, schedule="linear", iterations=8)
    probe = ProbeOfSteps(training)
    training.probes = [probe]
    events = [event for event in fit(training) if isinstance(event, Record) and event.epoch]
    assert [step for step, _, _ in probe.seen] == [made for _, made, _ in probe.seen] == list(range(1, 9))
    assert [lr for _, _, lr in probe.seen] == pytest.approx([0.4 * (1 - done / 8) for done in range(8)])
    assert [record.metrics["probed"] for record in events] == [6, 8]
    assert events[0].series["probed"] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("looks", [1, 3])
def test_training_continues_from_any_event_to_the_same_bits(looks: int) -> None:
    """Stopped within an epoch, saved, and continued with new objects as in another process."""
    settings = {"norm": "augnorm", "iterations": 8}
    whole = make(**settings)
    expected = metrics_of(whole)

    stopped = make(**settings)
    stopped.progress_interval = 0
    events = fit(stopped)
    for _ in range(looks + 1):
        event = next(events)
    assert isinstance(event, Progress)
    torch.save(stopped.state_dict(), file := io.BytesIO())
    file.seek(0)
    resumed = make(**settings)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    assert 0 < resumed.step < 8
    again = metrics_of(resumed)
    assert again == expected[-len(again) :]
    for name, value in whole.model.state_dict().items():
        assert torch.equal(resumed.model.state_dict()[name], value), name
