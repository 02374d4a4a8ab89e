"""A home with a few finished runs of a tiny network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import normbench_cli as nb
from normbench_cli.experiments.result import RunResult

TINY: dict[str, Any] = {"model": "mlp:size=8,width=16", "data": "digits:size=8", "batch_size": 256, "epochs": 2}


@pytest.fixture
def tiny() -> dict[str, Any]:
    """Settings of a training of half a second."""
    return dict(TINY)


@pytest.fixture
def trained(tiny: dict[str, Any], fill_once: Callable[..., Any]) -> Any:
    """Two norms with two seeds each."""

    def make() -> list[RunResult]:
        return nb.train(norm=["batchnorm", "popnorm"], seeds=range(2), **tiny)

    return fill_once(make)
