"""What works on this machine, and what to do about what does not.

torch is loaded, and something is compiled: whether compilers work is only known by trying.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch

from normbench_cli import fast_paths, paths
from normbench_cli.device import device_name, driver_version, pick_device
from normbench_cli.errors import NormbenchError
from normbench_cli.experiments.environment import installed_version
from normbench_cli.store import Store
from normbench_cli.store.errors import NoDatabase
from normbench_cli.version import __version__


class Finding(NamedTuple):
    """The result of a check: whether all is well, what was found, and what to do."""

    ok: bool
    found: str
    remedy: str = ""


def examine(db: str | None = None) -> dict[str, Finding]:
    """The result of every check by its name."""
    home = check_home()
    if home.ok:
        paths.set_compile_cache()  # like every training, so that what is compiled here is found there
    checks: dict[str, Callable[[], Finding]] = {
        "normbench": lambda: Finding(True, __version__),
        "torch": lambda: Finding(True, f"{torch.__version__}, {torch.get_num_threads()} threads"),
        "torchvision": check_torchvision,
        "device": check_device,
        "fast paths": check_fast_paths,
        "compiler": check_compiler,
        "home": lambda: home,
        "database": lambda: check_database(db),
        "data": check_data,
    }
    return {name: check() for name, check in checks.items()}


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
        return Finding(True, "; ".join(fallbacks), "works, more slowly; another release of torch may mend it")
    return Finding(True, "all work")


def check_compiler() -> Finding:
    """Compile something small with torch.compile, which needs a C++ compiler on a CPU and Triton on a GPU."""
    x = torch.ones(8, device=pick_device())
    try:
        torch.compile(lambda t: torch.sin(t) + 1)(x)
    except Exception as error:  # whatever it is, compiling does not work here
        remedy = "works without, more slowly; install a C++ compiler (g++, clang), on a GPU Triton"
        return Finding(True, f"torch.compile fails: {type(error).__name__}", remedy)
    return Finding(True, "torch.compile works")


def check_home() -> Finding:
    try:
        paths.ensure_writable(paths.home(), "NORMBENCH_HOME")
    except NormbenchError as error:
        return Finding(False, "", str(error))
    return Finding(True, str(paths.home()))


def check_database(location: str | None) -> Finding:
    try:
        with Store.open(location, create=False) as store:
            return Finding(True, f"{store.location}: {store.count()} runs")
    except NoDatabase:
        return Finding(True, f"none yet at {paths.database(location)}", "`normbench train` makes it")
    except NormbenchError as error:
        return Finding(False, "", str(error))


def check_data() -> Finding:
    root = paths.data_root()
    found = sorted(path.name for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    if found:
        return Finding(True, f"{root}: {', '.join(found)}")
    return Finding(True, f"digits (embedded); nothing in {root}", "set NORMBENCH_DATA to the folder of your data sets")
