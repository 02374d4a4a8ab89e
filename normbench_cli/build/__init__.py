"""Builds everything that training needs from a configuration.

A run is prepared in two steps, each done once:

1. `resolve` (resolution.py) checks a `RunConfig` without computing anything, chooses device-dependent settings that it
   leaves open (precision, memory format, compiling) and returns a `ResolvedConfig`.
2. `make_training` (assemble.py) makes the model, data, objective, optimizer and schedule of a `ResolvedConfig`, on its
   device.  For graph data sets `cross_validation` does the same and trains every fold.

Only a `ResolvedConfig` can be built, and nothing in this package changes one, so the configuration that is recorded is
the one that was trained.  Modules:

    resolved_config.py  ResolvedConfig: a RunConfig without open settings
    resolution.py       check, resolve, resolved_fingerprint, config_warnings
    network_checks.py   checks that a network can work, before anything is allocated
    torch_flags.py      torch's device settings as a configuration requests them
    compile_trial.py    whether compiling the model makes training steps faster on this machine
    assemble.py         make_training, make_model, cross_validation, splits_of_folds, graph_example
    init.py             initial weights; unit_variance.py: those that depend on the first batch
    optim.py            the optimizer and the learning-rate schedule
    solvers.py          the solvers of the generalized median, stopped after a number of passes
    data.py             data sets, cached for all runs of a grid; data_digest.py identifies their contents
"""

from normbench_cli.build.assemble import (
    cross_validation,
    fold_plan,
    graph_example,
    make_model,
    make_training,
    splits_of_folds,
)
from normbench_cli.build.data import images_of, load_data, load_images, loaded_data
from normbench_cli.build.resolution import (
    check,
    config_warnings,
    meta_network,
    needs_compile_trial,
    resolve,
    resolved_fingerprint,
)
from normbench_cli.build.resolved_config import ResolvedConfig
from normbench_cli.build.torch_flags import flags_of

__all__ = [
    "ResolvedConfig",
    "check",
    "config_warnings",
    "cross_validation",
    "flags_of",
    "fold_plan",
    "graph_example",
    "images_of",
    "load_data",
    "load_images",
    "loaded_data",
    "make_model",
    "make_training",
    "meta_network",
    "needs_compile_trial",
    "resolve",
    "resolved_fingerprint",
    "splits_of_folds",
]
