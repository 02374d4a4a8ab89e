"""Data sets, one per file.

`InMemoryImages` and `Split`, from which users build their own data sets, can be imported from here.  They import torch,
so they are loaded on first use.
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
