"""Progress keeps bar, numbers and time left at every width."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console
from rich.progress import Progress as Bars

from normbench_cli.cli._progress import COLUMNS, TrainingBars, run_name, run_numbers
from normbench_cli.config import RunConfig
from normbench_cli.experiments.events import Progress, RunStarted

CONFIG = RunConfig(norm="popnorm:kappa=8,remove=none", act="sigmoid", seed=12)
PROGRESS = Progress(step=30, steps=100, epoch=3, epochs=20, loss=1.2345, accuracy=0.4567, samples_per_s=12345.6)


def drawn(width: int, runs: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    bars = Bars(*COLUMNS, console=console)
    show = TrainingBars(bars, runs)
    show(RunStarted(CONFIG))
    show(PROGRESS)
    with console.capture() as captured:
        console.print(bars.get_renderable())
    return captured.get().splitlines()


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("runs", [1, 8])
def test_a_line_has_name_bar_numbers_and_time_left(width: int, runs: int) -> None:
    *grid, run = drawn(width, runs)
    assert len(grid) == (runs > 1)
    assert len(run) <= width
    assert "seed 12" in run
    assert re.search(r"━{3,}", run)
    assert "epoch 3/20  loss 1.234  accuracy 45.7%" in run
    assert re.search(r"(\d+:\d\d:\d\d|-:--:--)\s*$", run)
    assert ("12,346 samples/s" in run) is (width > 80)


@pytest.mark.parametrize(
    ("width", "name"),
    [
        (60, "resnet20 popnorm:kappa=8,remove=none sigmoid seed 12"),
        (45, "popnorm:kappa=8,remove=none sigmoid seed 12"),
        (36, "popnorm:kappa=8,remove=none seed 12"),
        (20, "popnorm:kap… seed 12"),
        (3, "p… seed 12"),
    ],
)
def test_a_name_gives_way_before_the_seed(width: int, name: str) -> None:
    assert run_name(CONFIG, width) == name


@pytest.mark.parametrize(
    ("width", "name"),
    [
        (70, "resnet20 popnorm:kappa=8,remove=none sigmoid lr 0.3 init auto seed 12"),
        (60, "popnorm:kappa=8,remove=none sigmoid lr 0.3 init auto seed 12"),
        (52, "popnorm:kappa=8,remove=none lr 0.3 init auto seed 12"),
        (44, "popnorm:kappa=8,remove=none lr 0.3 seed 12"),
        (40, "popnorm:kappa=8,remove=none seed 12"),
        (20, "popnorm:kap… seed 12"),
    ],
)
def test_what_varies_gives_way_after_what_does_not(width: int, name: str) -> None:
    assert run_name(replace(CONFIG, lr=0.3), width, axes=("norm", "lr", "init")) == name


@pytest.mark.parametrize(("width", "numbers"), [(0, "epoch 3/20"), (25, "epoch 3/20  loss 1.234")])
def test_numbers_give_way_from_the_end(width: int, numbers: str) -> None:
    assert run_numbers(PROGRESS, width) == numbers
