"""What works on this machine, and how to fix what does not.

Loads torch and compiles something: only trying shows whether the compilers work.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch

from normbench_cli import fast_paths, paths
from normbench_cli.device import device_name, driver_version, pick_device
from normbench_cli.disk import free_bytes
from normbench_cli.errors import NormbenchError
from normbench_cli.experiments import doctor_cache
from normbench_cli.experiments.benchmark_conditions import conditions
from normbench_cli.experiments.environment import installed_version
from normbench_cli.store import Store
from normbench_cli.store.check import check_database as examine_database
from normbench_cli.store.errors import NoDatabase
from normbench_cli.store.location import parse_location
from normbench_cli.version import __version__

LEAST_FREE = 2**30  # bytes: three checkpoints of resnet101, two kept and one being written
QUICK_BYTES = 2**22  # size limit of tables and files that doctor reads; it leaves larger ones to `db check`


class Finding(NamedTuple):
    """The result of a check: whether all is well, what was found, and the remedy."""

    ok: bool
    found: str
    remedy: str = ""


def examine(db: str | None = None) -> dict[str, Finding]:
    """Return the result of every check by name.  A check that raises an error is a finding, too."""
    home = check_home()
    if home.ok:
        paths.set_compile_cache()  # as in training, which then finds what is compiled here
    remembered = (doctor_cache.recall() if home.ok else None) or {}
    checks: dict[str, Callable[[], Finding]] = {
        "normbench": lambda: Finding(True, __version__),
        "torch": lambda: Finding(True, f"{torch.__version__}, {torch.get_num_threads()} threads"),
        "torchvision": check_torchvision,
        "device": check_device,
        **{name: partial(kept_or_made, remembered.get(name), check) for name, check in tried().items()},
        "home": lambda: home,
        "disk": lambda: check_disk(db),
        "database": lambda: check_database(db),
        "data": check_data,
    }
    found = {name: guarded(check) for name, check in checks.items()} | check_conditions()
    if home.ok and not remembered and all(found[name].ok and not found[name].remedy for name in tried()):
        doctor_cache.remember({name: found[name].found for name in tried()})
    return found


def tried() -> dict[str, Callable[[], Finding]]:
    """The checks that compile.  They take seconds, so their success is cached (`doctor_cache`)."""
    return {"fast paths": check_fast_paths, "compiler": check_compiler}


def kept_or_made(remembered: str | None, check: Callable[[], Finding]) -> Finding:
    return check() if remembered is None else Finding(True, remembered)


def guarded(check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except Exception as error:  # one broken part must not hide the others
        return guarded_finding(error)


def guarded_finding(error: Exception) -> Finding:
    return Finding(False, f"{type(error).__name__}: {error}", "this check cannot be made here")


def check_conditions() -> dict[str, Finding]:
    """What disturbs a benchmark, each with a remedy; none is an error."""
    try:
        return {name: Finding(True, *line) for name, line in conditions(pick_device()).items()}
    except Exception as error:
        return {"conditions": guarded_finding(error)}


def check_torchvision() -> Finding:
    found = installed_version("torchvision")
    return Finding(found != "missing", found, "" if found != "missing" else "pip install torchvision")


def check_device() -> Finding:
    device = pick_device()
    remedy = "" if device.type != "cpu" else "works; for a GPU install the build of torch that supports it"
    return Finding(True, f"{device}: {device_name(device)} {driver_version(device)}".strip(), remedy)


def check_fast_paths() -> Finding:
    """Try every fast path; a fallback computes the same, so none is an error."""
    fallbacks = fast_paths.fallbacks()
    if fallbacks:
        return Finding(True, "; ".join(fallbacks), "works, more slowly; another release of torch may fix it")
    return Finding(True, "all work")


def check_compiler() -> Finding:
    """Compile something small with torch.compile, which needs a C++ compiler on a CPU and Triton on a GPU."""
    x = torch.ones(8, device=pick_device())
    try:
        torch.compile(lambda t: torch.sin(t) + 1)(x)
    except Exception as error:  # of any kind: compiling does not work here
        remedy = "works without, more slowly; install a C++ compiler (g++, clang), on a GPU Triton"
        return Finding(True, f"torch.compile fails: {type(error).__name__}", remedy)
    return Finding(True, "torch.compile works")


def check_home() -> Finding:
    try:
        paths.ensure_writable(paths.home(), "NORMBENCH_HOME")
    except NormbenchError as error:
        return Finding(False, "", str(error))
    return Finding(True, str(paths.home()))


def check_disk(db: str | None) -> Finding:
    """Free space where normbench writes: its home, the database, data sets."""
    location = parse_location(paths.database(db))
    places = dict.fromkeys([paths.home(), *([location.path.parent] if location.path else []), paths.data_root()])
    free = {place: free_bytes(place) for place in places}
    scarce = [place for place, left in free.items() if left < LEAST_FREE]
    found = ", ".join(f"{left / 2**30:.1f} GiB free at {place}" for place, left in free.items() if place in scarce)
    if scarce:
        return Finding(False, found, f"free space there: a large model's checkpoints need {LEAST_FREE / 2**30:.0f} GiB")
    return Finding(True, f"{min(free.values()) / 2**30:.1f} GiB free")


def check_database(location: str | None) -> Finding:
    try:
        with Store.open(location, create=False) as store:
            health = examine_database(store, most_bytes=QUICK_BYTES)
            if health.problems:
                more = f", and {len(health.problems) - 1} more problems" if len(health.problems) > 1 else ""
                return Finding(False, f"{store.location}: {health.problems[0]}{more}", "see `normbench db check`")
            return Finding(True, f"{store.location}: {store.count()} runs")
    except NoDatabase:
        return Finding(True, f"none yet at {parse_location(paths.database(location))}", "`normbench train` makes it")
    except NormbenchError as error:
        return Finding(False, "", str(error))


def check_data() -> Finding:
    root = paths.data_root()
    found = sorted(path.name for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    if found:
        return Finding(True, f"{root}: {', '.join(found)}")
    return Finding(True, f"digits (embedded); nothing in {root}", "set NORMBENCH_DATA to the folder of your data sets")
