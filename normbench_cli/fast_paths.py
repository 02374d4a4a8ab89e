"""Fast paths through private parts of torch, each tried before it is trusted, and the fallbacks taken where one fails.

Torch may change its private parts with any release.  Only the modules in `USERS` touch them.  Each of their fast paths
has a trial and a fallback that computes the same; taking a fallback is logged once a process, and `doctor` lists it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib import import_module

USERS = (  # each has `try_fast_paths`
    "normbench_cli.norms._compile",
    "normbench_cli.norms._batch.batch_norm_operators",
    "normbench_cli.norms._native.library",
    "normbench_cli.models._blocks.onednn_linear",
)

log = logging.getLogger(__name__)
_outcomes: dict[str, str] = {}  # fast path -> why its fallback was taken, or "" if its trial went well


def passes(path: str, trial: Callable[[], object], fallback: str) -> bool:
    """Whether the trial of a fast path ran without an error; it runs once a process."""
    if path not in _outcomes:
        try:
            trial()
        except Exception as error:  # what goes wrong in private parts has no type to expect
            fall_back(path, fallback, error)
        else:
            _outcomes[path] = ""
    return not _outcomes[path]


def fall_back(path: str, fallback: str, error: Exception) -> None:
    """Take the fallback of a fast path from now on."""
    reason = str(error).strip().partition("\n")[0]
    _outcomes[path] = f"{fallback}: {path} failed with {type(error).__name__}{f' ({reason})' if reason else ''}"
    log.warning("%s", _outcomes[path])


def failed(path: str) -> bool:
    return bool(_outcomes.get(path))


def fallbacks() -> list[str]:
    """What runs by a fallback here and why, a sentence each, after a trial of every fast path; loads torch."""
    for user in USERS:
        import_module(user).try_fast_paths()
    return [reason for reason in _outcomes.values() if reason]
