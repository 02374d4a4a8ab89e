"""Networks, one a file; each is written once, for all norms and activations.

`LayerFactory`, with which a network of one's own makes its layers, can be imported from here.  It loads torch, so it
is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from normbench_cli.registry import MODELS

if TYPE_CHECKING:
    from normbench_cli.models._blocks.factory import LayerFactory

__all__ = ["MODELS", "LayerFactory"]


def __getattr__(name: str) -> Any:
    if name == "LayerFactory":
        from normbench_cli.models._blocks.factory import LayerFactory

        return LayerFactory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
