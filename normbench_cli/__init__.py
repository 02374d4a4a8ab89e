"""normbench: the laboratory for normalization layers.

The use cases of the commands, from Python::

    import normbench_cli as nb

    results = nb.train(norm=["batchnorm", "augnorm:phi=1.5"], act="relu", seeds=range(3))
    nb.runs(where="norm=augnorm:phi=1.5")        # DataFrame, one row per run
    nb.metrics("train/loss")                     # DataFrame, one row per run and epoch
    nb.load_model(results[0])                    # the trained network
    nb.evaluate(results[0], attacks="gaussian")  # its scores, added to the run
    nb.profile(norms=["popnorm"], shapes=[(32, 16, 8, 8)])
    nb.tune(norm=["batchnorm", "popnorm"], budget=12)  # an equal budget for each, then fresh seeds

They make the same checks as the commands, raise what these report, and print nothing.  ``import normbench_cli`` is
quick: torch, pandas and SQLAlchemy are loaded by the functions that need them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from normbench_cli.version import __version__

if TYPE_CHECKING:
    from normbench_cli.experiments.evaluate import evaluate
    from normbench_cli.experiments.grid import train
    from normbench_cli.experiments.load_model import load_model
    from normbench_cli.experiments.profile import profile
    from normbench_cli.experiments.query import metrics, runs
    from normbench_cli.experiments.tune import tune

__all__ = ["__version__", "evaluate", "load_model", "metrics", "profile", "runs", "train", "tune"]
MODULE_OF = {  # in experiments/
    "evaluate": "evaluate",
    "load_model": "load_model",
    "metrics": "query",
    "profile": "profile",
    "runs": "query",
    "train": "grid",
    "tune": "tune",
}


def __getattr__(name: str) -> object:
    """Import the functions on first use."""
    if name in MODULE_OF:
        return getattr(import_module(f"normbench_cli.experiments.{MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
