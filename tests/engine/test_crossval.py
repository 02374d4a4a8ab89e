"""Cross-validation: which fold a sample is in, folds side by side against one by one, resuming, the statistics."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from normbench_cli.datasets import DATASETS
from normbench_cli.datasets._graphs.dataset import make_graph_dataset
from normbench_cli.datasets._graphs.loader import GraphLoader
from normbench_cli.datasets.tu import find_text_file, find_tu_folder
from normbench_cli.engine.crossval.folds import assign, cross_validate, make_folds
from normbench_cli.engine.crossval.parallel import warm_up
from normbench_cli.engine.crossval.statistics import CURVES, finished_folds, mean_curves, summary
from normbench_cli.engine.crossval.train import Plan, batches
from normbench_cli.engine.events import Diverged, Record
from normbench_cli.errors import UsageError
from normbench_cli.models import MODELS
from normbench_cli.models.gcn import GCN
from normbench_cli.norms import NORMS
from normbench_cli.norms._compile import InductorKernel
from normbench_cli.norms._ggm import autograd

CPU = torch.device("cpu")
PLAN = Plan(folds=3, epochs=4, batch_size=8, seed=9)
FIRST_OF_MUTAG = [0, 1, 7, 0, 8, 3, 6, 4, 4, 0]


def rings_and_paths(count: int = 30, seed: int = 0) -> GraphLoader:
    """Rings are one class, paths the other; tags at random."""
    generator = torch.Generator().manual_seed(seed)
    edges, graph, tags = [], [], []
    for number in range(count):
        size = int(torch.randint(3, 8, (1,), generator=generator))
        first = len(graph)
        edges += [(first + i, first + i + 1) for i in range(size - 1)] + [(first, first + size - 1)] * (number % 2)
        graph += [number] * size
        tags += torch.randint(0, 3, (size,), generator=generator).tolist()
    labels = [number % 2 for number in range(count)]
    return make_graph_dataset("TOY", "here", tags, torch.tensor(edges).T, graph, labels).to(CPU)


def make_model(norm: str = "batchnorm") -> GCN:
    return MODELS.build("gcn", norm=norm, num_classes=2, in_channels=3, hidden=8)


def run(
    plan: Plan = PLAN,
    finished: dict[int, dict[str, list[Any]]] | None = None,
    norm: str = "batchnorm",
    threads: int = 1,
) -> list[Record]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        return [
            record
            for record in cross_validate(
                lambda: make_model(norm),
                lambda model: torch.optim.Adam(model.parameters()),
                rings_and_paths(),
                plan,
                finished,
            )
            if isinstance(record, Record)
        ]
    finally:
        torch.set_num_threads(before)


def series(records: list[Record]) -> dict[str, list[float]]:
    return {name: values for record in records for name, values in record.series.items()}


def test_folds_are_stratified_and_the_same_for_the_same_seed() -> None:
    labels = torch.tensor([0] * 12 + [1] * 6)
    found = assign(labels, 3, 9)
    assert torch.equal(found, assign(labels, 3, 9))
    assert [torch.bincount(labels[found == fold]).tolist() for fold in range(3)] == [[4, 2]] * 3


@pytest.mark.parametrize("folds", [1, 0, 7])
def test_impossible_folds_are_refused(folds: int) -> None:
    with pytest.raises(UsageError, match="smallest class has 6 samples; give 2 to 6 folds"):
        assign(torch.tensor([0] * 12 + [1] * 6), folds, 9)


@pytest.mark.parametrize("threads", [2, 4])
@pytest.mark.parametrize("norm", ["batchnorm", "graphnorm", "augnorm"])
def test_folds_side_by_side_equal_folds_one_by_one(norm: str, threads: int) -> None:
    one_by_one, together = series(run(norm=norm)), series(run(norm=norm, threads=threads))
    assert sorted(one_by_one) == sorted(f"{name}@fold{fold}" for name in CURVES for fold in range(3))
    assert one_by_one == together  # bit for bit


@pytest.fixture
def always_compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Kernels are compiled anew, whatever the size of their data."""
    monkeypatch.setenv("NORMBENCH_COMPILE", "always")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    for kernel in autograd.FORWARD, autograd.MORE, autograd.APPLY, autograd.BACKWARD:
        monkeypatch.setattr(kernel, "compiled", {})


def test_all_that_a_fold_may_need_is_compiled_before_the_processes_part(
    always_compiled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    easy = torch.linspace(-1, 1, 40).unsqueeze(1).expand(40, 8)  # its median is found at once
    fold = SimpleNamespace(model=NORMS.build("augnorm", num_features=8), train=torch.arange(40))
    warm_up(fold, SimpleNamespace(batch=lambda chosen: (easy, torch.arange(40) % 8)), PLAN)
    monkeypatch.setattr(InductorKernel, "_compile", lambda *_: pytest.fail("compiled in every process"))
    hard = torch.randn(41, 8).mul(3).exp()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        fold.model(hard.requires_grad_()).sum().backward()
    finally:
        torch.set_num_threads(before)
    assert fold.model.solver_statistics()["iterations_max"] > 3


def test_a_process_can_compile_what_was_not_compiled_before(
    always_compiled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler's own helper processes, alive in the parent, are not there in a forked one."""
    monkeypatch.setattr(
        "normbench_cli.engine.crossval.parallel.warm_up", lambda *_: torch.compile(torch.sin)(torch.ones(3))
    )
    before, limit = torch.get_num_threads(), 240
    torch.set_num_threads(2)
    try:
        make = lambda model: torch.optim.Adam(model.parameters())  # noqa: E731
        records = cross_validate(lambda: make_model("augnorm"), make, rings_and_paths(), replace(PLAN, epochs=1))
        looks = 0
        for record in records:
            looks += not isinstance(record, Record)
            assert looks < limit, f"no fold has ended for {limit} looks"
    finally:
        torch.set_num_threads(before)


def test_a_fold_equals_a_training_written_out() -> None:
    plan = replace(PLAN, epochs=2)
    data, fold = rings_and_paths(), 1
    model = make_folds(make_model, lambda m: torch.optim.Adam(m.parameters()), data, plan)[fold].model
    owner = assign(data.labels, 3, 9)
    optimizer = torch.optim.Adam(model.parameters())
    order = torch.Generator().manual_seed(9 * 1_000_003 + fold)
    model.dropout.generator = torch.Generator().manual_seed(9 * 1_000_003 + fold + 500_009)
    expected = []
    for epoch in range(2):
        optimizer.param_groups[0]["lr"] = 0.01 * (2 - epoch) / 2
        train = (owner != fold).nonzero()[:, 0]
        for chosen in train[torch.randperm(len(train), generator=order)].split(8):
            batch, labels = data.batch(chosen)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model.train()(batch), labels).backward()
            optimizer.step()
        batch, labels = data.batch((owner == fold).nonzero()[:, 0])
        with torch.no_grad():
            scores = model.eval()(batch)
        expected.append(
            (nn.functional.cross_entropy(scores, labels).item(), (scores.argmax(1) == labels).float().mean())
        )
    found = series(run(plan))
    losses, accuracies = (found[f"validation/{name}@fold{fold}"] for name in ("loss", "accuracy"))
    torch.testing.assert_close(torch.tensor(losses), torch.tensor([loss for loss, _ in expected]), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(torch.tensor(accuracies), torch.tensor([right for _, right in expected]))


def test_finished_folds_are_taken_over_and_the_others_come_out_the_same() -> None:
    whole = run()
    recorded = {name: values for name, values in series(whole).items() if not name.endswith("fold1")}
    finished = finished_folds(recorded, PLAN.epochs)
    assert list(finished) == [0, 2]
    rest = run(finished=finished)
    assert {name.rpartition("@")[2] for name in series(rest)} == {"fold1"}
    assert series(rest) == {name: series(whole)[name] for name in series(rest)}
    accuracy = [name for name in whole[-1].metrics if "accuracy" in name]
    assert {name: rest[-1].metrics[name] for name in accuracy} == {name: whole[-1].metrics[name] for name in accuracy}


def test_half_a_fold_is_not_finished() -> None:
    recorded = {f"{name}@fold0": [0.0] * 4 for name in CURVES} | {f"{CURVES[0]}@fold1": [0.0] * 4, "other@fold2": [0.0]}
    assert list(finished_folds(recorded, 4)) == [0]
    assert finished_folds(recorded, 5) == {}


def test_all_folds_finished_leaves_only_the_statistics() -> None:
    whole = run()
    again = run(finished=finished_folds(series(whole), PLAN.epochs))
    assert len(again) == PLAN.epochs + 1
    assert again[-1].metrics["validation/accuracy@last"] == whole[-1].metrics["validation/accuracy@last"]


def test_records_come_a_fold_an_epoch_and_at_last_the_whole() -> None:
    records = run(norm="augnorm")
    assert [record.epoch for record in records] == [None] * 3 + [1, 2, 3, 4] + [None]
    assert {*CURVES, "validation/accuracy_sd0", "validation/accuracy_sd1"} <= records[3].metrics.keys()
    assert {"solver/iterations_mean", "solver/iterations_max", "solver/unconverged"} <= records[-1].metrics.keys()
    assert records[-1].metrics["samples_per_s"] > 0


def test_the_three_statistics() -> None:
    folds = [
        {**{name: [0.0] * 3 for name in CURVES}, "validation/accuracy": values}
        for values in ([0.5, 0.9, 0.6], [0.7, 0.8, 1.0])
    ]
    found = summary(folds)
    assert found["validation/accuracy@curve_best"] == pytest.approx(0.85)
    assert found["validation/epoch@curve_best"] == 2
    assert found["validation/accuracy@best_per_fold"] == pytest.approx(0.95)
    assert found["validation/accuracy@last"] == pytest.approx(0.8)
    assert found["validation/accuracy_sd0@last"] == pytest.approx(0.2)
    assert found["validation/accuracy_sd1@last"] == pytest.approx(0.2 * 2**0.5)
    assert mean_curves(folds)[0]["validation/accuracy_sd0"] == pytest.approx(0.1)


def test_stopping_in_the_middle_ends_every_training() -> None:
    long = replace(PLAN, epochs=100_000)
    records = cross_validate(make_model, lambda m: torch.optim.Adam(m.parameters()), rings_and_paths(), long)
    looks = list(islice(records, 2))
    assert 0 < looks[-1].step < looks[-1].steps
    records.close()


def test_a_loss_that_is_not_finite_ends_the_run() -> None:
    def ruined() -> GCN:
        model = make_model()
        nn.init.constant_(model.classifier.weight, float("nan"))
        return model

    with pytest.raises(Diverged):
        list(cross_validate(ruined, lambda m: torch.optim.Adam(m.parameters()), rings_and_paths(), PLAN))


@pytest.mark.parametrize(("samples", "sizes"), [(16, [8, 8]), (17, [8, 9]), (18, [8, 8, 2]), (1, [1])])
def test_a_single_sample_left_over_joins_the_batch_before(samples: int, sizes: list[int]) -> None:
    parts = list(batches(torch.arange(samples), 8, torch.Generator()))
    assert [len(part) for part in parts] == sizes
    assert sorted(torch.cat(parts).tolist()) == list(range(samples))


@pytest.mark.parametrize(("name", "sizes"), [("mutag", {19: 8, 18: 2}), ("proteins", {112: 3, 111: 7})])
def test_the_folds_of_the_real_sets_are_the_known_ones(name: str, sizes: dict[int, int]) -> None:
    if not (find_tu_folder(name.upper()) or find_text_file(name.upper())):
        pytest.skip(f"NORMBENCH_DATA={os.environ.get('NORMBENCH_DATA', '')} does not hold {name}")
    found = assign(DATASETS.build(name).labels, 10, 9)
    counts = torch.bincount(found).tolist()
    assert {size: counts.count(size) for size in counts} == sizes
    if name == "mutag":
        assert found[:10].tolist() == FIRST_OF_MUTAG
