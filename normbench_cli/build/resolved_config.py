"""The type of a configuration without open settings."""

from __future__ import annotations

from dataclasses import dataclass

from normbench_cli.config import RunConfig


@dataclass(frozen=True)
class ResolvedConfig(RunConfig):
    """A RunConfig whose precision, compiling and memory format are set.  Made by `resolve`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.amp == "auto" or self.compile is None or self.channels_last is None:
            raise TypeError("a ResolvedConfig leaves nothing open: give amp, compile and channels_last")
