"""Networks, one per file; each is written once, for all norms and activations.

`LayerFactory`, with which users' own networks make their layers, can be imported from here.  It imports torch, so it
is loaded on first use.
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
