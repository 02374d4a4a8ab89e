"""How many passes over the data the search to a tolerance makes."""

from __future__ import annotations

from typing import Any

import pytest
from torch import Tensor

from normbench_cli.norms._ggm import tolerant
from normbench_cli.norms._native import columns


class CountedPasses:
    """Counts the passes of every search from now on; one over some of the channels counts as that part of a pass."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        self.passes = 0.0
        forward = columns.forward

        def native(*tensors: Any, **options: Any) -> Any:
            step = forward(*tensors, **options)
            self.calls += 1
            self.passes += step.passes
            return step

        patch.setattr(columns, "forward", native)
        for name in ("FORWARD", "MORE", "more_passes"):
            patch.setattr(tolerant, name, self._counted(name, getattr(tolerant, name)))

    def _counted(self, name: str, function: Any) -> Any:
        def call(data: Tensor, *tensors: Tensor, **options: Any) -> Any:
            if name == "FORWARD":
                self.calls += 1
                self._size = data.numel()
            self.passes += options["options"].steps * data.numel() / self._size
            return function(data, *tensors, **options)

        return call

    def reset(self) -> None:
        self.calls, self.passes = 0, 0.0

    @property
    def mean(self) -> float:
        return self.passes / max(self.calls, 1)
