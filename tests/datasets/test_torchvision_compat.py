"""torchvision is imported as it is, or with its missing operators declared; other failures stay failures."""

from __future__ import annotations

import subprocess
import sys

import pytest

from normbench_cli.datasets._images import torchvision_compat


@pytest.mark.parametrize("first", ["pass", "import torchvision"], ids=["fresh", "after a plain import"])
def test_models_run_whatever_torchvision_is_installed(first: str) -> None:
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


def test_an_import_that_works_declares_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.import_module", lambda name: sys)
    monkeypatch.setattr(torchvision_compat, "_declared", [])
    assert torchvision_compat.import_torchvision() is sys
    assert not torchvision_compat._declared


@pytest.mark.parametrize("error", [RuntimeError("something else"), ImportError("no torchvision")])
def test_other_failures_are_passed_on(monkeypatch: pytest.MonkeyPatch, error: ImportError | RuntimeError) -> None:
    def fail(name: str) -> None:
        raise error

    monkeypatch.setattr("importlib.import_module", fail)
    with pytest.raises(type(error), match=str(error)):
        torchvision_compat.import_torchvision()
