"""Folds side by side give the bits of folds one by one, and their processes compile what they need."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normbench_cli.engine.crossval import cross_validate
from normbench_cli.engine.crossval.parallel import PROGRESS_INTERVAL, compile_before_fork
from normbench_cli.engine.crossval.process_tuning import threads
from normbench_cli.engine.crossval.statistics import CURVES
from normbench_cli.engine.events import Progress
from normbench_cli.measure.solver import solver_metrics
from normbench_cli.norms import NORMS
from normbench_cli.norms._compile import InductorKernel
from normbench_cli.norms._ggm import autograd
from tests.engine.crossval.toy import PLAN, adam, make_model, records_of, rings_and_paths, series_of

MORE = [("graphnorm", 2), ("augnorm", 4)]


@pytest.mark.parametrize(
    ("norm", "workers"),
    [("batchnorm", 2), ("augnorm", 2), *(pytest.param(*more, marks=pytest.mark.slow) for more in MORE)],
)
def test_folds_side_by_side_equal_folds_one_by_one(norm: str, workers: int) -> None:
    one_by_one, together = series_of(records_of(norm=norm)), series_of(records_of(norm=norm, workers=workers))
    assert sorted(one_by_one) == sorted(f"{name}@fold{fold}" for name in CURVES for fold in range(3))
    assert one_by_one == together  # bit for bit


@pytest.fixture
def always_compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Kernels are compiled anew, whatever the size of their data."""
    monkeypatch.setenv("NORMBENCH_COMPILE", "always")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    for kernel in [value for value in vars(autograd).values() if isinstance(value, InductorKernel)]:
        monkeypatch.setattr(kernel, "compiled", {})


class EasyRows:
    """Data whose median is found at once."""

    device = torch.device("cpu")
    labels = torch.arange(40) % 8

    def __len__(self) -> int:
        return 40

    def batch(self, chosen: Tensor) -> tuple[Tensor, Tensor]:
        return torch.linspace(-1, 1, 40).unsqueeze(1).expand(40, 8), self.labels

    def chunks(self, max_nodes: int) -> list[tuple[Tensor, Tensor]]:
        return [self.batch(torch.arange(40))]


class CompilingLayer(nn.Linear):
    """Notes what it is asked to compile, and on how many threads."""

    def __init__(self) -> None:
        super().__init__(8, 8)
        self.asked: list[tuple[Tensor, int]] = []
        self.copies: list[CompilingLayer] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> CompilingLayer:
        self.copies.append(CompilingLayer())
        return self.copies[-1]

    def compile_ahead(self, x: Tensor) -> None:
        self.asked.append((x, torch.get_num_threads()))


def test_before_the_fork_a_copy_of_each_layer_compiles_ahead_on_one_thread() -> None:
    layer, data = CompilingLayer(), EasyRows()
    with threads(2):
        compile_before_fork(layer, torch.arange(40), data, PLAN)
    (copied,) = layer.copies
    ((x, count),) = copied.asked
    assert torch.equal(x, data.batch(torch.arange(40))[0])
    assert count == 1
    assert layer.asked == []
    assert all(p.grad is None for p in layer.parameters())


@pytest.mark.slow  # the test above is its quick half
def test_workers_find_all_their_kernels_compiled(always_compiled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    layer = NORMS.build("augnorm:tol=exact", num_features=8)
    compile_before_fork(layer, torch.arange(40), EasyRows(), PLAN)
    monkeypatch.setattr(InductorKernel, "_compile", lambda *_: pytest.fail("compiled in every process"))
    hard = torch.randn(41, 8).mul(3).exp()
    with threads(1):
        layer(hard.requires_grad_()).sum().backward()
    assert solver_metrics(layer)["solver/iterations_max"] > 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # of the compiler's own modules
def test_a_worker_can_compile_a_kernel_that_was_not_compiled_before(
    always_compiled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The helper processes of the compiler, alive in the parent, do not exist in a forked process."""
    monkeypatch.setattr(
        "normbench_cli.engine.crossval.parallel.compile_before_fork",
        lambda *_: torch.compile(torch.sin)(torch.ones(3)),
    )
    waits, limit = 0, 240
    with threads(2):
        for event in cross_validate(
            partial(make_model, "augnorm:tol=exact"), adam, rings_and_paths(), replace(PLAN, epochs=1)
        ):
            waits += isinstance(event, Progress)
            assert waits < limit, f"no fold has ended for {limit * PROGRESS_INTERVAL} s"
