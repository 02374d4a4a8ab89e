"""One way to measure a layer: its input's shape, type and memory format, and how the layer is called."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from os import environ
from typing import Any

import torch

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16, "float16": torch.float16}
MEMORY_FORMATS = ("contiguous", "channels_last")
CALLS = {
    "layer": "as a user calls it: the layer compiles what it has decided to compile",
    "eager": "nothing is compiled",
    "compiled": "inside torch.compile",
    "reduce-overhead": "inside torch.compile with CUDA graphs, by its mode of this name",
}
PASSES = {
    "both": "forward and backward, in training mode",
    "forward": "forward in training mode, with what it saves for backward",
    "backward": "backward alone",
    "eval": "forward in evaluation mode, without gradients",
}


@dataclass(frozen=True)
class LayerCase:
    """The input, of this `shape` (N, C, ...) and type, and the call with which a layer is measured.

    memory_format: one of MEMORY_FORMATS; call: one of CALLS; timed: one of PASSES; amp: as in a configuration; start:
    one of `start.STARTS`; data: source of the input's values, or empty if they are drawn from a normal distribution.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"
    memory_format: str = "contiguous"
    call: str = "layer"
    timed: str = "both"
    amp: str = "off"
    start: str = "warm"
    data: str = ""

    @property
    def label(self) -> str:
        """The shape and the non-default settings: 8x4x6x6 or 8x4x6x6+bfloat16+channels_last."""
        usual = LayerCase(())
        own = asdict(self)
        names = ("dtype", "memory_format", "call", "timed", "start", "data")
        differs = [own[name] for name in names if own[name] != getattr(usual, name)]
        return "+".join(["x".join(map(str, self.shape)), *differs])

    @property
    def compiles(self) -> bool:
        return self.call in ("compiled", "reduce-overhead")

    @property
    def compile_mode(self) -> str | None:
        """The mode of torch.compile."""
        return self.call if self.call == "reduce-overhead" else None

    @property
    def torch_dtype(self) -> torch.dtype:
        return DTYPES[self.dtype]

    @property
    def tensor_bytes(self) -> int:
        """Bytes of the input, and of the output and each of their gradients."""
        return math.prod(self.shape) * self.torch_dtype.itemsize

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> LayerCase:
        return cls(**{**values, "shape": tuple(values["shape"])})


@contextmanager
def calling(call: str) -> Iterator[None]:
    """Within the block, normbench's layers compile nothing if the call is `eager`, else what they have decided."""
    variable = "NORMBENCH_COMPILE"
    before = environ.get(variable)
    if call == "eager":
        environ[variable] = "never"
    try:
        yield
    finally:
        if before is None:
            environ.pop(variable, None)
        else:
            environ[variable] = before
