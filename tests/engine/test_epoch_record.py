"""What the loop measures of each epoch, and when it says something, on a training of a few numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from normbench_cli.engine.events import Diverged, Notice, Progress, Record
from normbench_cli.engine.loop import fit, gradient_norm
from normbench_cli.engine.training import Training

STEPS_PER_EPOCH = 3
SELECTED = {"epoch@best_average", "epoch@last", "test/accuracy@best_average", "test/accuracy@last"}


class Batch(NamedTuple):
    inputs: Tensor
    labels: Tensor
    groups: None = None


class Split:
    """Three batches of four examples."""

    def __init__(self, seed: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)
        self._batches = [Batch(torch.randn(4, 3, generator=generator), torch.tensor([0, 1, 0, 1])) for _ in range(3)]

    def __len__(self) -> int:
        return len(self._batches)

    def epoch(self, number: int = 0, first: int = 0) -> Iterator[Batch]:
        return iter(self._batches[first:])


class FileSplit(Split):
    """A split that is read from files, one of which turns out to be damaged in the second epoch."""

    def __init__(self, *damaged: str) -> None:
        super().__init__()
        self.damaged = dict.fromkeys(damaged, "truncated")

    def epoch(self, number: int = 0, first: int = 0) -> Iterator[Batch]:
        if number == 2:
            self.damaged["late.png"] = "empty"
        return super().epoch(number, first)


class CountingProbe:
    """Counts the steps since it was read."""

    def __init__(self) -> None:
        self.count = 0

    def after_step(self, step: int) -> None:
        self.count += 1

    def read(self) -> tuple[dict[str, float], dict[str, list[float]]]:
        count, self.count = self.count, 0
        return {"counted": float(count)}, {}


def make(epochs: int = 2, **values: Any) -> Training:
    torch.manual_seed(0)
    model = values.pop("model", None) or nn.Linear(3, 2)
    given = {
        "objective": torch.mean,
        "optimizer": torch.optim.SGD(model.parameters(), 0.1),
        "device": torch.device("cpu"),
        "schedule": lambda progress: 1 - progress,
        "lr": 0.1,
        "train": Split(),
        "test": Split(1),
        "steps": STEPS_PER_EPOCH * epochs,
        **values,
    }
    return Training(model=model, **given)


def records_of(training: Training) -> list[Record]:
    return [event for event in fit(training) if isinstance(event, Record)]


@pytest.mark.parametrize("has_validation", [True, False])
def test_epochs_are_selected_only_at_the_end_and_only_by_validation_data(has_validation: bool) -> None:
    records = records_of(make(3, validation=Split(2) if has_validation else None))[1:]
    expected: list[set[str]] = [set(), set(), SELECTED if has_validation else set()]
    assert [SELECTED & record.metrics.keys() for record in records] == expected
    assert all(("validation/accuracy" in record.metrics) == has_validation for record in records)


def test_the_best_test_accuracy_is_that_of_all_epochs_so_far() -> None:
    training = make()
    training.history = [{"test/accuracy": 2.0}]  # as no epoch can reach
    assert [record.metrics["test/accuracy@best"] for record in records_of(training)[1:]] == [2.0, 2.0]


@pytest.mark.parametrize("records", [True, False])
def test_what_is_minimized_is_recorded_where_it_is_not_the_mean_loss(records: bool) -> None:
    metrics = records_of(make(1, objective=torch.max, records_objective=records))[1].metrics
    assert ("train/objective" in metrics) == records
    if records:
        assert metrics["train/objective"] > metrics["train/loss"]


def test_the_gradient_norm_is_that_of_all_parameters_which_have_a_gradient() -> None:
    model = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
    for parameter, value in zip(model[0].parameters(), (3.0, 4.0), strict=True):
        parameter.grad = torch.full_like(parameter, value)
    assert gradient_norm(model) == pytest.approx(5.0)
    (*_, record) = records_of(training := make(1))
    assert record.metrics["gradient_norm"] == pytest.approx(gradient_norm(training.model))


@pytest.mark.parametrize(("steps", "epochs"), [(1, 1), (3, 1), (4, 2), (6, 2), (7, 3)])
def test_an_epoch_that_was_begun_counts(steps: int, epochs: int) -> None:
    training = make(steps=steps)
    assert training.epochs == epochs
    assert [(record.epoch, record.step) for record in records_of(training)[1:]] == [
        (epoch, min(epoch * STEPS_PER_EPOCH, steps)) for epoch in range(1, epochs + 1)
    ]


def test_progress_comes_between_the_steps_of_an_epoch_and_not_after_its_last() -> None:
    training = make()
    training.progress_interval = -1.0  # always due
    events = list(fit(training))
    seen = [(event.epoch, event.epochs, event.step, event.steps) for event in events if isinstance(event, Progress)]
    assert seen == [(1, 2, 1, 6), (1, 2, 2, 6), (2, 2, 4, 6), (2, 2, 5, 6)]
    losses = [event.loss for event in events if isinstance(event, Progress)]
    (first, second) = [event.series["train/loss"] for event in events if isinstance(event, Record) and event.epoch]
    assert losses == [*first[:2], *second[:2]]
    assert not any(isinstance(event, Progress) for event in fit(make()))  # half a second does not pass


def test_saved_bytes_are_measured_before_the_first_step_only() -> None:
    (before, *_) = events = records_of(make(1, model=nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))))
    assert (before.epoch, before.step) == (None, 0)
    assert before.metrics["saved_activation_bytes"] > 0
    assert len(events) == 2
    stopped = make()
    next(events_of := fit(stopped))
    while stopped.step < 1 or stopped.epochs_done < 1:
        next(events_of)
    resumed = make()
    resumed.load_state_dict(stopped.state_dict())
    assert [record.epoch for record in records_of(resumed)] == [2]


def test_the_step_of_divergence_counts_all_epochs() -> None:
    training = make(3, schedule=lambda progress: float("nan") if progress == 4 / 9 else 1.0)  # the fifth step
    events: list[Progress | Record | Notice] = []
    with pytest.raises(Diverged) as stop:
        events.extend(fit(training))  # what came before stays in the list
    assert stop.value.step == 6  # the first loss with the weights that are not finite
    assert isinstance(events[-1], Record)
    assert events[-1].epoch == 2


def notices(training: Training) -> list[str]:
    return [event.text.split()[0] for event in fit(training) if isinstance(event, Notice)]


def test_each_damaged_file_of_any_split_is_reported_once_and_all_are_counted() -> None:
    training = make(3, train=FileSplit("a.png"), test=FileSplit("b.png", "a.png"), validation=FileSplit("c.png"))
    found: list[float | str] = []
    for event in fit(training):
        found += [event.text.split()[0]] if isinstance(event, Notice) else []
        found += [event.metrics["data/damaged_images"]] if isinstance(event, Record) and event.epoch else []
    assert found == [3, "a.png", "c.png", "b.png", 4, "late.png", 4]


def test_a_run_without_files_counts_no_damage() -> None:
    training = make(1, test=FileSplit("b.png"))
    assert all("data/damaged_images" not in record.metrics for record in records_of(training))


def test_damage_that_was_reported_is_not_reported_again_by_a_resumed_run() -> None:
    first = make(train=FileSplit("a.png"))
    assert notices(first) == ["a.png", "late.png"]
    resumed = make(3, train=FileSplit("a.png", "new.png"))
    resumed.load_state_dict(first.state_dict())
    assert notices(resumed) == ["new.png"]
    assert set(resumed.state_dict()["damaged"]) == {"a.png", "late.png", "new.png"}


def test_loading_a_state_drops_what_probes_had_seen() -> None:
    saved = make().state_dict()
    probes = [CountingProbe(), CountingProbe()]
    training = make(probes=probes)
    for probe in probes:
        probe.after_step(1)
    training.load_state_dict(saved)
    assert [probe.count for probe in probes] == [0, 0]
    assert [record.metrics["counted"] for record in records_of(training)[1:]] == [3, 3]


def test_a_state_of_a_former_version_names_no_damaged_files() -> None:
    state = make().state_dict()
    del state["damaged"]
    training = make()
    training.load_state_dict(state)
    assert training.reported == {}


def test_buffers_outside_the_state_dict_are_restored() -> None:
    def model(value: float) -> nn.Module:
        layer = nn.Linear(3, 2)
        layer.register_buffer("count", torch.tensor(value), persistent=False)
        return layer

    resumed = make(model=model(1.0))
    resumed.load_state_dict(make(model=model(7.0)).state_dict())
    assert resumed.model.get_buffer("count") == 7


def test_a_restored_epoch_reports_at_the_same_interval() -> None:
    stopped = make()
    stopped.progress_interval = -1.0
    events = fit(stopped)
    while not isinstance(next(events), Progress):
        pass
    for interval, expected in ((-1.0, [2, 4, 5]), (1e9, [])):
        resumed = make()
        resumed.progress_interval = interval
        resumed.load_state_dict(stopped.state_dict())
        assert [event.step for event in fit(resumed) if isinstance(event, Progress)] == expected


def test_every_epoch_trains_in_training_mode_and_is_scored_in_eval_mode() -> None:
    modes: list[bool] = []
    training = make()
    training.model.register_forward_hook(lambda module, *_: modes.append(module.training))
    training.model.eval()
    events = fit(training)
    next(events)
    modes.clear()
    for _ in events:
        training.model.eval()  # as whoever looks at an event may do
    assert modes == ([True] * 3 + [False] * 3) * 2
