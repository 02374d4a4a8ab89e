"""The results database: runs, what they measured, and where they ran.  Never imports torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from normbench_cli.store.store import Store

__all__ = ["Store"]


def __getattr__(name: str) -> object:
    """`Store` on first use: it loads SQLAlchemy, which `store.status` and `store.metric_names` do without."""
    if name == "Store":
        from normbench_cli.store.store import Store

        return Store
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
