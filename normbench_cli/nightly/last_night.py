"""The verdict of a suite's newest night, and the measurements of a suite."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.nightly.history import read_nights
from normbench_cli.nightly.measurements import measurement
from normbench_cli.nightly.verdict import Judged, Verdict
from normbench_cli.nightly.verdict_json import read_verdict
from normbench_cli.store import Store
from normbench_cli.store.nights import night_values, nights

NAMES_SHOWN = 3


def suite_name(name_or_file: str) -> str:
    """The recorded name of a suite: the stem of its file."""
    return Path(name_or_file).stem if name_or_file.endswith(".toml") else name_or_file


def last_verdict(store: Store, suite: str) -> Verdict:
    """The verdict of the newest night that has one."""
    found = newest_verdict(store, suite)
    if found is None:
        known = sorted({night.suite for night in nights(store)} - {suite})
        do = f"nights are recorded of {', '.join(known)}" if known else "`normbench nightly` runs one"
        raise NormbenchError(f"no night of the suite '{suite}' is recorded", do)
    return found


def newest_verdict(store: Store, suite: str) -> Verdict | None:
    """The same, or None if there is no such night."""
    return next((read_verdict(night.verdict) for night in reversed(read_nights(store, suite)) if night.verdict), None)


def measurement_names(store: Store, suite: str) -> list[str]:
    """All measurements that nights of the suite have judged, sorted."""
    pairs = {(value.cell, value.metric) for value in night_values(store, suite)}
    return sorted(about.name for pair in pairs if (about := measurement(*pair)))


def matching(asked: Iterable[str], names: Sequence[str]) -> list[str]:
    """The measurements with these names, or matching a pattern with *, each once."""
    found: dict[str, None] = {}
    for one in asked:
        some = [one] if one in names else [name for name in names if fnmatchcase(name, one)]
        if not some:
            raise UsageError(f"there is no measurement '{one}'", nearest(one, names))
        found |= dict.fromkeys(some)
    return list(found)


def nearest(wrong: str, names: Sequence[str]) -> str:
    """A hint about a wrong name.  A suite has too many names to list them all."""
    close = difflib.get_close_matches(wrong, names, n=1, cutoff=0.4)
    if close:
        return f"did you mean '{close[0]}'?"
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    shown = ", ".join(f"'{name}'" for name in names[:NAMES_SHOWN])
    return f"there are {shown}{more}" if names else "no night has measured anything yet"


def finding_of(verdict: Verdict, name: str) -> Judged | None:
    return next((one for one in verdict.judged if one.name == name), None)
