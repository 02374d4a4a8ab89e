"""torchvision is imported as it is, or after declaring its missing operators; other errors are passed on."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest
import torch

from normbench_cli.datasets._images import torchvision_compat


@pytest.mark.parametrize(
    "first",
    [
        pytest.param("pass", id="fresh"),
        pytest.param("import torchvision", id="after a plain import", marks=pytest.mark.slow),
    ],
)
def test_models_run_with_any_installed_torchvision(first: str) -> None:
    code = f"""
import torch
try:
    {first}
except RuntimeError:
    pass
from normbench_cli.datasets._images.torchvision_compat import import_torchvision
import_torchvision()
tv = import_torchvision()
print(tv.models.resnet18(num_classes=3).eval()(torch.ones(1, 3, 32, 32)).shape[1])
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "3"


def test_missing_operators_are_declared_and_the_import_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first import fails as that of a torchvision without compiled operators; the second must find them."""
    declared: list[str] = []

    class Library:
        def __init__(self, namespace: str, kind: str) -> None:
            self.namespace = namespace

        def define(self, schema: str) -> None:
            declared.append(f"{self.namespace}::{schema.partition('(')[0]}")

    def import_module(name: str) -> ModuleType:
        if not declared:
            raise RuntimeError(torchvision_compat.MISSING)
        return ModuleType(name)

    monkeypatch.setattr(torch.library, "Library", Library)
    monkeypatch.setattr("importlib.import_module", import_module)
    monkeypatch.setattr(torchvision_compat, "_declared", [])
    assert torchvision_compat.import_torchvision().__name__ == "torchvision"
    assert declared == ["torchvision::nms", "torchvision::qnms"]


@pytest.mark.parametrize("error", [RuntimeError("something else"), ImportError("no torchvision")])
def test_other_errors_are_passed_on(monkeypatch: pytest.MonkeyPatch, error: ImportError | RuntimeError) -> None:
    def fail(name: str) -> None:
        raise error

    monkeypatch.setattr("importlib.import_module", fail)
    with pytest.raises(type(error), match=str(error)):
        torchvision_compat.import_torchvision()
