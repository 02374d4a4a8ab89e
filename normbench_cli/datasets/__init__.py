"""Data sets, one a file.

`InMemoryImages` and `Split`, of which a data set of one's own is made, can be imported from here.  They load torch, so
they are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from normbench_cli.registry import DATASETS

if TYPE_CHECKING:
    from normbench_cli.datasets._images.memory import InMemoryImages, Split

__all__ = ["DATASETS", "InMemoryImages", "Split"]


def __getattr__(name: str) -> Any:
    if name in ("InMemoryImages", "Split"):
        from normbench_cli.datasets._images import memory

        return getattr(memory, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
