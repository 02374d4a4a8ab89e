"""The training loop: a generator that yields a record an epoch, and a look at the progress now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.device import Stopwatch, autocast, gradient_scaler, peak_memory_bytes, reset_peak_memory
from normbench_cli.engine.evaluate import score
from normbench_cli.engine.records import Batches, Diverged, Progress, Record
from normbench_cli.measure.memory import saved_activation_bytes
from normbench_cli.measure.solver import solver_metrics

SECONDS_BETWEEN_LOOKS = 0.5


@dataclass
class Training:
    """Everything one training run consists of."""

    model: nn.Module
    objective: nn.Module
    optimizer: torch.optim.Optimizer
    schedule: Callable[[float], float]
    lr: float
    train: Batches
    test: Batches
    device: torch.device
    steps: int
    amp: str = "off"

    @property
    def epochs(self) -> int:
        return -(-self.steps // len(self.train))


def fit(run: Training) -> Iterator[Progress | Record]:
    """Train.  Raises `Diverged`, after the epoch's record, when a loss was not finite."""
    reset_peak_memory(run.device)
    yield Record(None, 0, {"saved_activation_bytes": saved_bytes(run)})
    scaler = gradient_scaler(run.device, run.amp)
    step = 0
    for epoch in range(1, run.epochs + 1):
        tally = Tally(run)
        run.model.train()
        for inputs, labels in tally.clocked(run.train.epoch(epoch)):
            set_rate(run, step)
            losses, right = train_step(run, scaler, inputs, labels)
            tally.add(losses, right)
            step += 1
            if tally.time_to_look():
                loss, accuracy = tally.look()
                yield Progress(epoch, run.epochs, step, run.steps, loss, accuracy, tally.samples_per_s())
            if step == run.steps:
                break
        metrics, samples = tally.finish()
        metrics |= {f"test/{name}": value for name, value in score(run.model, run.test, run.device, run.amp).items()}
        metrics |= {**solver_metrics(run.model), "peak_memory_bytes": peak_memory_bytes(run.device)}
        yield Record(epoch, step, metrics, samples)
        if tally.first_bad_step is not None:
            raise Diverged(step - len(samples["train/loss"]) + tally.first_bad_step + 1)


def set_rate(run: Training, step: int) -> None:
    rate = run.lr * run.schedule(step / run.steps)
    for group in run.optimizer.param_groups:
        group["lr"] = rate * group.get("rate_factor", 1.0)


def train_step(run: Training, scaler: torch.amp.GradScaler, inputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """One step; gives the samples' losses and which answers were right, still on the device."""
    run.optimizer.zero_grad(set_to_none=True)
    with autocast(run.device, run.amp):
        outputs = run.model(inputs)
    losses = F.cross_entropy(outputs.float(), labels, reduction="none")
    scaler.scale(run.objective(losses)).backward()
    scaler.step(run.optimizer)
    scaler.update()
    return losses.detach(), outputs.detach().argmax(1) == labels


class Tally:
    """An epoch's counts, kept on the device until somebody looks, and its step times."""

    def __init__(self, run: Training) -> None:
        self._watch = Stopwatch(run.device)
        self._losses: list[Tensor] = []
        self._sizes: list[int] = []
        self._right = torch.zeros((), dtype=torch.int64, device=run.device)
        self._began = self._looked = time.perf_counter()
        self.first_bad_step: int | None = None

    def clocked(self, batches: Iterator[tuple[Tensor, Tensor]]) -> Iterator[tuple[Tensor, Tensor]]:
        """The batches; the clock runs while one is made and used, and stands still while the caller looks on."""
        while True:
            self._watch.mark()
            batch = next(batches, None)
            if batch is None:
                self._watch.mark()
                return
            yield batch

    def add(self, losses: Tensor, right: Tensor) -> None:
        self._losses.append(losses.mean())
        self._sizes.append(len(losses))
        self._right += right.sum()
        self._watch.mark()

    def time_to_look(self) -> bool:
        return time.perf_counter() - self._looked > SECONDS_BETWEEN_LOOKS

    def look(self) -> tuple[float, float]:
        self._looked = time.perf_counter()
        return self._losses[-1].item(), self._right.item() / sum(self._sizes)

    def samples_per_s(self) -> float:
        return sum(self._sizes) / max(time.perf_counter() - self._began, 1e-9)

    def finish(self) -> tuple[dict[str, float], dict[str, list[float]]]:
        """The epoch's metrics and its raw series."""
        laps = self._watch.laps_ms()[: len(self._sizes)]  # a last lap may have found no batch
        losses = torch.stack(self._losses)
        bad = (~torch.isfinite(losses)).nonzero()
        self.first_bad_step = int(bad[0]) if len(bad) else None
        sizes = torch.tensor(self._sizes, dtype=torch.float64)
        values = losses.double().cpu()
        metrics = {
            "train/loss": float((values * sizes).sum() / sizes.sum()),
            "train/accuracy": self._right.item() / sum(self._sizes),
            "step_time_ms": float(torch.tensor(laps).median()),
            "samples_per_s": sum(self._sizes) / (sum(laps) / 1e3),
        }
        return metrics, {"train/loss": values.tolist(), "step_time_ms": laps}


def saved_bytes(run: Training) -> int:
    """What one training forward keeps for backward, measured once, before the clock; leaves the model as it was."""
    inputs, labels = next(run.train.epoch(0))
    state = {name: value.clone() for name, value in run.model.state_dict().items()}

    def forward() -> Tensor:
        with autocast(run.device, run.amp):
            outputs = run.model(inputs)
        return run.objective(F.cross_entropy(outputs.float(), labels, reduction="none"))

    run.model.train()
    saved = saved_activation_bytes(forward, run.model)
    run.model.load_state_dict(state)
    solver_metrics(run.model)  # forget what this forward counted
    return saved
