"""The counts of an epoch, when a look is due, and the state that a checkpoint holds; no test waits for time to pass."""

from __future__ import annotations

import io
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from normbench_cli.engine.epoch_meter import EpochMeter

CPU = torch.device("cpu")


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Batch(NamedTuple):
    inputs: Tensor  # here the losses that the step gives
    labels: Tensor = torch.empty(0)
    groups: None = None


def add(meter: EpochMeter, *losses: float, objective_value: float | None = None) -> None:
    """A step with these losses, whose every answer is correct."""
    value = None if objective_value is None else torch.tensor(objective_value)
    for batch in meter.timed(iter([Batch(torch.tensor(losses))])):
        meter.add(batch.inputs, torch.ones(len(losses), dtype=torch.bool), value)


def test_means_are_over_examples_of_batches_of_unequal_size() -> None:
    meter = EpochMeter(CPU)
    add(meter, 1.0, 3.0, 5.0)
    add(meter, 7.0)
    metrics, series = meter.finish()
    assert metrics["train/loss"] == 4.0
    assert metrics["train/accuracy"] == 1.0
    assert series["train/loss"] == [3.0, 7.0]


def test_a_look_is_due_when_the_interval_has_passed_since_the_last_one() -> None:
    clock = Clock()
    meter = EpochMeter(CPU, peek_interval=0.5, clock=clock)
    add(meter, 2.0)
    clock.now += 0.5
    assert not meter.due()
    clock.now += 0.01
    assert meter.due()
    assert meter.peek() == (2.0, 1.0)
    assert not meter.due()


def test_the_rate_counts_examples_since_the_meter_was_restored() -> None:
    clock = Clock()
    meter = EpochMeter(CPU, clock=clock)
    add(meter, 1.0, 1.0)
    restored = EpochMeter(CPU, clock=clock)
    restored.load_state_dict(meter.state_dict())
    add(restored, 1.0, 1.0, 1.0)
    clock.now += 2.0
    assert meter.samples_per_s() == 1.0
    assert restored.samples_per_s() == 1.5


def test_a_restored_meter_counts_on() -> None:
    whole, first = EpochMeter(CPU), EpochMeter(CPU)
    for meter in (whole, first):
        add(meter, 1.0, 2.0)
    torch.save(first.state_dict(), file := io.BytesIO())
    file.seek(0)
    rest = EpochMeter(CPU)
    rest.load_state_dict(torch.load(file, weights_only=True))
    for meter in (whole, rest):
        add(meter, torch.nan)
    assert rest.finish()[1]["train/loss"] == pytest.approx([1.5, torch.nan], nan_ok=True)
    assert whole.finish()[0]["train/accuracy"] == rest.finish()[0]["train/accuracy"]
    assert rest.first_bad_step == 1


def test_a_meter_without_steps_can_be_saved_and_restored() -> None:
    rest = EpochMeter(CPU)
    rest.load_state_dict(EpochMeter(CPU).state_dict())
    assert rest.steps == 0
    add(rest, 1.0)
    assert rest.finish()[1]["train/loss"] == [1.0]


def test_times_and_rates_are_those_of_all_steps() -> None:
    meter = EpochMeter(CPU)
    state = {"losses": torch.ones(4), "sizes": [2, 2, 2, 4], "right": torch.tensor(7), "laps": [1.0, 3.0, 100.0, 4.0]}
    meter.load_state_dict(state)
    metrics, series = meter.finish()
    assert metrics["train/accuracy"] == 0.7
    assert metrics["step_time_ms"] == 3.0  # the lower median
    assert metrics["samples_per_s"] == pytest.approx(10 / 0.108)
    assert series["step_time_ms"] == [1.0, 3.0, 100.0, 4.0]
    assert meter.first_bad_step is None


def test_a_look_gives_the_last_loss_and_the_accuracy_of_all_examples() -> None:
    meter = EpochMeter(CPU)
    for losses, correct in (([1.0, 1.0, 1.0], [True, True, False]), ([5.0], [False])):
        for _ in meter.timed(iter([Batch(torch.tensor(losses))])):
            meter.add(torch.tensor(losses), torch.tensor(correct))
    assert meter.peek() == (5.0, 0.5)


def test_the_state_that_was_saved_does_not_count_on() -> None:
    meter = EpochMeter(CPU)
    add(meter, 1.0)
    state = meter.state_dict()
    add(meter, 1.0)
    assert (state["right"], state["sizes"], len(state["laps"])) == (1, [1], 1)


def test_the_objectives_value_is_averaged_as_the_loss_is_and_survives_a_checkpoint() -> None:
    meter, restored = EpochMeter(CPU), EpochMeter(CPU)
    add(meter, 1.0, 2.0, 3.0, objective_value=4.0)
    restored.load_state_dict(meter.state_dict())
    add(restored, 1.0, objective_value=8.0)
    assert restored.finish()[0]["train/objective"] == 5.0


def test_an_epoch_that_an_older_version_began_has_no_value_of_the_objective() -> None:
    meter, restored = EpochMeter(CPU), EpochMeter(CPU)
    add(meter, 1.0)
    state = meter.state_dict()
    del state["minimized"]
    restored.load_state_dict(state)
    add(restored, 1.0, objective_value=8.0)
    assert "train/objective" not in restored.finish()[0]
