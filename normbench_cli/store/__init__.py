"""The results database: runs, what they measured, and where they ran.  Never imports torch."""

from normbench_cli.store.store import Store

__all__ = ["Store"]
