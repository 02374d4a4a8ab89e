"""Training: the same seed gives the same numbers, divergence is seen, the clock and the counts are right."""

from __future__ import annotations

import io
import math

import pytest
import torch
from torch.nn.parameter import Parameter

from normbench_cli.build import build
from normbench_cli.config import make_config
from normbench_cli.engine.events import Diverged, Record
from normbench_cli.engine.loop import fit, set_rate

TINY = {"data": "digits:size=8", "batch_size": 256}


def metrics_of(**values: int | str) -> list[dict[str, float]]:
    return [r.metrics for r in fit(build(make_config(TINY | values))) if isinstance(r, Record) and r.epoch]


def results(metrics: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if name.startswith(("train/", "test/"))}


def test_the_same_config_gives_the_same_numbers_to_the_last_digit() -> None:
    first, again = (list(map(results, metrics_of(epochs=2))) for _ in range(2))
    assert first == again


def test_another_seed_gives_other_numbers() -> None:
    assert results(metrics_of(iterations=2)[-1]) != results(metrics_of(iterations=2, seed=1)[-1])


def test_workers_do_not_change_the_numbers() -> None:
    assert results(metrics_of(iterations=2, workers=2)[-1]) == results(metrics_of(iterations=2)[-1])


def test_a_golden_run() -> None:
    """Independently computed with plain torch, see `plain_run`: same data, weights, order and arithmetic."""
    loss, accuracy = plain_run(steps=6)
    metrics = metrics_of(epochs=1, norm="batchnorm", schedule="constant", lr="0.05")[-1]
    assert metrics["train/loss"] == pytest.approx(loss, rel=1e-4)
    assert metrics["test/accuracy"] == pytest.approx(accuracy, abs=0.003)


def plain_run(steps: int) -> tuple[float, float]:
    """The run above written out, with none of the engine's code."""
    config = make_config(TINY | {"norm": "batchnorm", "epochs": 1, "schedule": "constant", "lr": 0.05})
    run = build(config)
    net, optimizer = run.model, torch.optim.SGD(run.model.parameters(), 0.05, 0.9, weight_decay=5e-4)
    total = count = 0.0
    net.train()
    for step, (x, y) in enumerate((b.inputs, b.labels) for b in run.train.epoch(1)):
        assert step < steps
        loss = torch.nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total, count = total + loss.item() * len(y), count + len(y)
    net.eval()
    with torch.no_grad():
        right = sum((net(x).argmax(1) == y).sum().item() for x, y, _ in run.test.epoch())
    return total / count, right / run.test.examples


def test_iterations_end_in_the_middle_of_an_epoch() -> None:
    records = [r for r in fit(build(make_config(TINY | {"iterations": 8}))) if isinstance(r, Record)]
    assert [(r.epoch, r.step) for r in records] == [(None, 0), (1, 6), (2, 8)]
    assert [len(r.series["train/loss"]) for r in records[1:]] == [6, 2]
    assert all(lap > 0 for r in records[1:] for lap in r.series["step_time_ms"])


def test_a_loss_that_is_not_finite_ends_the_run_after_its_record() -> None:
    run = fit(build(make_config(TINY | {"norm": "none", "lr": 1e30, "epochs": 3})))
    records = []
    with pytest.raises(Diverged) as stop:
        records.extend(run)  # what came before stays in the list
    last = records[-1]
    assert not math.isfinite(last.metrics["train/loss"])
    losses = last.series["train/loss"]
    assert not math.isfinite(losses[stop.value.step - 1])
    assert all(map(math.isfinite, losses[: stop.value.step - 1]))


def test_counting_saved_bytes_leaves_the_model_as_it_was() -> None:
    run = build(make_config(TINY))
    before = {name: value.clone() for name, value in run.model.state_dict().items()}
    first = next(fit(run))
    assert first.metrics["saved_activation_bytes"] > 1e6
    torch.testing.assert_close(run.model.state_dict(), before)


def test_equal_seeds_begin_with_equal_weights_whatever_the_norm() -> None:
    def weights(norm: str) -> list[Parameter]:
        return [m.weight for m in build(make_config({"norm": norm})).model.modules() if isinstance(m, torch.nn.Conv2d)]

    torch.testing.assert_close(weights("none"), weights("batchnorm"))


def test_rates_follow_the_schedule_and_keep_their_factor() -> None:
    run = build(make_config(TINY | {"schedule": "linear", "lr": 0.4, "epochs": 1}))
    run.optimizer.param_groups[0]["rate_factor"] = 0.5
    run.step = 3
    set_rate(run)
    assert run.optimizer.param_groups[0]["lr"] == pytest.approx(0.4 * (1 - 3 / run.steps) * 0.5)


@pytest.mark.parametrize("looks", [1, 3])
def test_training_goes_on_from_any_look_to_the_same_bits(monkeypatch: pytest.MonkeyPatch, looks: int) -> None:
    """Stopped in the middle of an epoch, put away, and taken up by another process's worth of objects."""
    monkeypatch.setattr("normbench_cli.engine.epoch_meter.SECONDS_BETWEEN_LOOKS", 0)
    config = make_config(TINY | {"norm": "augnorm", "iterations": 8})
    whole = build(config)
    expected = [results(r.metrics) for r in fit(whole) if isinstance(r, Record) and r.epoch]

    stopped = build(config)
    records = fit(stopped)
    for _ in range(looks + 1):
        next(records)
    file = io.BytesIO()
    torch.save(stopped.state_dict(), file)
    file.seek(0)
    resumed = build(config)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    assert 0 < resumed.step < 8
    again = [results(r.metrics) for r in fit(resumed) if isinstance(r, Record) and r.epoch]
    assert again == expected[-len(again) :]
    for name, value in whole.model.state_dict().items():
        assert torch.equal(resumed.model.state_dict()[name], value), name
