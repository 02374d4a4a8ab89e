"""Components of other packages: classes and functions named `package.module:attribute`, and entry points."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from normbench_cli.config import make_config
from normbench_cli.errors import UsageError
from normbench_cli.registry import (
    ACTIVATIONS,
    ATTACKS,
    CORRUPTIONS,
    DATASETS,
    MODELS,
    NORMS,
    OBJECTIVES,
    SCHEDULES,
    Registry,
)
from normbench_cli.registry.trust import USER

SOURCE = '''
import torch
from torch import nn
from normbench_cli.models import MODELS
from normbench_cli.norms import NORMS

class Twice(nn.Module):
    """Twice the input."""
    def __init__(self, num_features: int, factor: float = 2.0):
        super().__init__()
        self.factor = factor
    def forward(self, x):
        return self.factor * x

@NORMS.register("lead", paper="Them 2026", placement="before", removes_mean=True)
class Lead(Twice):
    """Twice the input, before the operation."""

@NORMS.register("halved", placement="weight")
def halved(op, by: float = 2.0):
    """Weights divided by a number."""
    op.weight.data /= by
    return op

def unregistered(op, by: float = 2.0):
    return op

class NoFeatures(nn.Module):
    """A norm that takes nothing."""

@NORMS.register("typo", placment="before")
class Typo(Twice): ...
'''
FUNCTIONS = '''
import torch
from torch import nn

def warmup(progress: float, share: float = 0.5) -> float:
    """A linear warm-up."""
    return min(1.0, progress / share)

def sized(size: int):
    """Numbers, as many as asked for."""
    return list(range(size))

def numbers(size: int = 3):
    """Numbers."""
    return list(range(size))

class Numbers:
    """More numbers."""
    def __init__(self, size: int = 3): self.size = size

def add(model, x, y, size: float = 1.0):
    """A constant added."""
    return x + size

def network(norm: str, act: str, num_classes: int, in_channels: int, width: int = 4):
    return nn.Sequential(nn.Linear(in_channels, width), nn.Linear(width, num_classes))

def nothing(): ...
'''


@pytest.fixture(autouse=True)
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Their modules in the working folder, forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "their_norms.py").write_text(SOURCE.partition('@NORMS.register("typo"')[0])
    (tmp_path / "their_typo.py").write_text(SOURCE)
    (tmp_path / "their_functions.py").write_text(FUNCTIONS)
    yield
    for name in ("their_norms", "their_typo", "their_functions"):
        sys.modules.pop(name, None)


def test_a_class_is_found_in_the_working_folder(tmp_path: Path) -> None:
    layer = NORMS.build("their_norms:Twice:factor=3", num_features=4)
    assert torch.equal(layer(torch.ones(2, 4)), 3 * torch.ones(2, 4))
    assert NORMS.parse("their_norms:Twice").entry.summary == "Twice the input."
    assert str(tmp_path) not in sys.path


def test_its_facts_are_those_of_its_own_decorator() -> None:
    norm = NORMS.parse_norm("their_norms:Lead:factor=3")
    assert (norm.placement, norm.removes_mean) == ("before", True)
    assert NORMS.find("their_norms:Lead").paper == "Them 2026"
    assert NORMS.parse_norm("their_norms:Twice").placement == "after"


def test_a_norm_of_weights_is_a_function_of_op() -> None:
    op = nn.Linear(2, 2)
    weight = op.weight.detach().clone()
    assert NORMS.build("their_norms:halved:by=4", op=op) is op
    assert torch.equal(op.weight, weight / 4)
    assert str(NORMS.parse_norm("their_norms:halved+bn")) == "their_norms:halved+batchnorm"


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: NORMS.parse("their_norms:unregistered"), "is a function of op.*register.*placement='weight'"),
        (lambda: NORMS.build("their_norms:NoFeatures", num_features=3), "does not take 'num_features'"),
        (lambda: NORMS.parse("their_typo:Typo"), r"their_typo\.py: 'placment' is not a fact"),
        (lambda: NORMS.parse("their_functions:warmup"), "not a class made from torch.nn.Module or a function of op"),
        (lambda: SCHEDULES.parse("their_functions:numbers"), "is not a class or a function of progress"),
        (lambda: ATTACKS.parse("their_functions:nothing"), "torch.nn.Module or a function of model, x, y"),
        (lambda: MODELS.parse("their_functions:nothing"), "a function of norm, act, num_classes, in_channels"),
        (lambda: OBJECTIVES.parse("their_functions:Numbers"), "not a class made from torch.nn.Module"),
        (lambda: ACTIVATIONS.parse("their_functions:add"), "not a class made from torch.nn.Module"),
        (lambda: CORRUPTIONS.parse("their_functions:Numbers"), "not a class made from normbench_cli.corruptions"),
        (lambda: DATASETS.parse("their_functions:torch"), "is not a class or a function"),
        (lambda: DATASETS.build("their_functions:sized"), "needs 'size'; write their_functions:sized:size=..."),
    ],
)
def test_what_cannot_work_is_refused_with_what_is_expected(build: Callable[[], object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        build()


def test_a_schedule_is_a_function_of_progress() -> None:
    assert SCHEDULES.build("their_functions:warmup:share=0.25")(0.125) == 0.5
    assert make_config({"schedule": "their_functions:warmup:share=0.5"}, USER).schedule == "their_functions:warmup"


def test_an_attack_is_a_class_or_a_function_of_model_and_batch() -> None:
    attack = ATTACKS.build("their_functions:add:size=2", mean=(0.5,), std=(1.0,))
    assert attack(None, torch.zeros(2), None).tolist() == [2, 2]


def test_a_data_set_is_a_function_or_any_class() -> None:
    assert DATASETS.build("their_functions:numbers:size=2") == [0, 1]
    assert DATASETS.build("their_functions:Numbers:size=2").size == 2


def test_a_model_may_be_a_function() -> None:
    net = MODELS.build("their_functions:network:width=7", norm="bn", act="relu", num_classes=2, in_channels=5)
    assert net[0].out_features == 7


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Installs a distribution with entry points."""
    registries: list[Registry[Any]] = [NORMS, SCHEDULES]

    def forget() -> None:
        for registry in registries:
            registry.__dict__.pop("entries", None)

    def install(group: str, **points: str) -> None:
        site = tmp_path / "site"
        info = site / "theirs-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
        lines = [f"{name} = {where}" for name, where in points.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines, ""]))
        for module in ("their_norms", "their_typo", "their_functions"):
            (tmp_path / f"{module}.py").rename(site / f"{module}.py")
        monkeypatch.syspath_prepend(str(site))
        forget()

    yield install
    forget()


def test_an_entry_point_has_the_facts_of_its_class_without_being_imported(installed: Callable[..., None]) -> None:
    installed("normbench.norms", leads="their_norms:Lead", twice="their_norms:Twice", halves="their_norms:halved")
    norm = NORMS.parse_norm("halves:by=3+leads:factor=4")
    assert (norm.placement, norm.removes_mean) == ("before", True)
    assert [str(part) for part in norm.weight_norms] == ["halves:by=3"]
    assert (NORMS.find("leads").paper, NORMS.find("leads").summary) == (
        "Them 2026",
        "Twice the input, before the operation.",
    )
    assert NORMS.parse_norm("twice:factor=2").placement == "after"
    assert str(NORMS.parse("twice:factor=2")) == "twice"
    assert NORMS.find("twice").summary == "Twice the input."
    assert "their_norms" not in sys.modules
    assert NORMS.build("leads:factor=4", num_features=2).factor == 4


def test_an_entry_point_may_be_a_schedule(installed: Callable[..., None]) -> None:
    installed("normbench.schedules", Warm="their_functions:warmup")
    assert SCHEDULES.build("warm:share=0.25")(0.125) == 0.5


def test_a_wrong_fact_of_an_entry_point_is_an_error_where_it_is_used(installed: Callable[..., None]) -> None:
    installed("normbench.norms", typo="their_typo:Typo")
    assert NORMS.canonical("bn") == "batchnorm"
    with pytest.raises(UsageError, match=r"their_typo\.py: 'placment' is not a fact of this norm"):
        NORMS.parse_norm("typo")


def test_a_broken_package_does_not_hide_the_other_components(installed: Callable[..., None]) -> None:
    installed("normbench.norms", broken="their_absent_module:Norm")
    summaries = {name: entry.summary for name, entry in NORMS.entries.items()}
    assert "cannot be imported" in summaries["broken"]
    with pytest.raises(UsageError, match="cannot be imported"):
        NORMS.build("broken", num_features=3)
