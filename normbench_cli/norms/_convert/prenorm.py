"""A norm and the operation it precedes, as one module in the operation's place."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn


class PreNorm(nn.Module):
    """op(norm(x)).  Attributes of the operation (weight, stride, out_channels) remain accessible.

    The input of a linear layer may have its features last, (N, tokens, features); the norm then gets them second.
    """

    def __init__(self, norm: nn.Module, op: nn.Module) -> None:
        super().__init__()
        self.norm = norm
        self.op = op

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if x.ndim > 2 and isinstance(self.op, nn.Linear):
            y: Tensor = self.op(self.norm(x.movedim(-1, 1)).movedim(1, -1), *args, **kwargs)
        else:
            y = self.op(self.norm(x), *args, **kwargs)
        return y

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            modules = self.__dict__.get("_modules", {})  # missing while a copy is being made
            if "op" not in modules or name.startswith("__"):
                raise
            return getattr(modules["op"], name)
