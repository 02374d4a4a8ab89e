"""Fast paths that may be unavailable (private torch APIs, C++ kernels), each tested before its first use, and the
fallbacks.

Private APIs may change with any torch release; only the modules in `USERS` use them.  Each of their fast paths has a
trial run and a fallback that computes the same; a fallback is logged once per process, and `doctor` lists it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib import import_module

USERS = (  # each defines `try_fast_paths`
    "normbench_cli.norms._compile",
    "normbench_cli.norms._batch.batch_norm_operators",
    "normbench_cli.norms._native.library",
    "normbench_cli.models._blocks.onednn_linear",
)

log = logging.getLogger(__name__)
_outcomes: dict[str, str] = {}  # fast path -> why its fallback is used, or "" if its trial succeeded


def passes(path: str, trial: Callable[[], object], fallback: str) -> bool:
    """Whether the trial of a fast path succeeded; it runs once per process."""
    if path not in _outcomes:
        try:
            trial()
        except Exception as error:  # private APIs may fail with any error
            fall_back(path, fallback, error)
        else:
            _outcomes[path] = ""
    return not _outcomes[path]


def fall_back(path: str, fallback: str, error: Exception) -> None:
    """Use the fallback of a fast path from now on."""
    reason = str(error).strip().partition("\n")[0]
    _outcomes[path] = f"{fallback}: {path} failed with {type(error).__name__}{f' ({reason})' if reason else ''}"
    log.warning("%s", _outcomes[path])


def failed(path: str) -> bool:
    return bool(_outcomes.get(path))


def fallbacks() -> list[str]:
    """Try every fast path; a sentence for each fallback in use and why.  Loads torch."""
    for user in USERS:
        import_module(user).try_fast_paths()
    return [reason for reason in _outcomes.values() if reason]
