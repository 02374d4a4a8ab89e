"""normbench doctor: what works on this machine, and what to do about what does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from normbench_cli import __version__, fast_paths, paths
from normbench_cli.cli._options import Common, common_options
from normbench_cli.cli._output import print_json, print_table
from normbench_cli.errors import EXIT_ERROR, EXIT_OK, NormbenchError
from normbench_cli.store.errors import NoDatabase


class Finding(NamedTuple):
    """The result of a check: whether all is well, what was found, and what to do."""

    ok: bool
    found: str
    remedy: str = ""


@common_options
def doctor(common: Common) -> int:
    """Check device, versions, compiler, database and data, and say what to do about what does not work.

    Examples:
      normbench doctor
      normbench doctor --json
    """
    checks: dict[str, Callable[[], Finding]] = {
        "normbench": lambda: Finding(True, __version__),
        "torch": check_torch,
        "torchvision": check_torchvision,
        "device": check_device,
        "fast paths": check_fast_paths,
        "compiler": check_compiler,
        "home": check_home,
        "database": lambda: check_database(common.db),
        "data": check_data,
    }
    findings = {name: check() for name, check in checks.items()}
    if common.json:
        print_json({name: {"ok": ok, "what": found, "do": remedy} for name, (ok, found, remedy) in findings.items()})
    else:
        print_table(
            [
                {"check": name, "": "ok" if ok else "NOT OK", "found": found, "what to do": remedy}
                for name, (ok, found, remedy) in findings.items()
            ]
        )
    return EXIT_OK if all(finding.ok for finding in findings.values()) else EXIT_ERROR


def check_torch() -> Finding:
    import torch

    return Finding(True, f"{torch.__version__}, {torch.get_num_threads()} threads")


def check_torchvision() -> Finding:
    from normbench_cli.runs.environment import installed_version

    found = installed_version("torchvision")
    return Finding(found != "missing", found, "" if found != "missing" else "pip install torchvision")


def check_device() -> Finding:
    from normbench_cli.device import device_name, driver_version, pick_device

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
    import torch

    from normbench_cli.device import pick_device

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
    from normbench_cli.store import Store

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
