"""normbench doctor: what works on this machine, and what to do about what does not."""

from __future__ import annotations

from collections.abc import Callable

from normbench_cli import __version__
from normbench_cli.cli import _options
from normbench_cli.errors import EXIT_ERROR, EXIT_OK, NormbenchError

Finding = tuple[bool, str, str]  # is it well, what is there, what to do


def doctor(
    db: _options.Database = None,
    json: _options.Json = False,
    debug: _options.Debug = False,
    quiet: _options.Quiet = False,
) -> int:
    """Check device, versions, compiler, database and data, and say what to do about what does not work."""
    from normbench_cli.cli._output import print_json, print_table

    checks: dict[str, Callable[[], Finding]] = {
        "normbench": lambda: (True, f"{__version__}", ""),
        "torch": check_torch,
        "torchvision": check_torchvision,
        "device": check_device,
        "compiler": check_compiler,
        "home": check_home,
        "database": lambda: check_database(db),
        "data": check_data,
    }
    findings = {name: check() for name, check in checks.items()}
    if json:
        print_json({name: {"ok": ok, "what": what, "do": do} for name, (ok, what, do) in findings.items()})
    else:
        rows = [
            {"check": name, "": "ok" if ok else "NOT OK", "found": what, "what to do": do}
            for name, (ok, what, do) in findings.items()
        ]
        print_table(rows)
    return EXIT_OK if all(ok for ok, _, _ in findings.values()) else EXIT_ERROR


def check_torch() -> Finding:
    import torch

    return True, f"{torch.__version__}, {torch.get_num_threads()} threads", ""


def check_torchvision() -> Finding:
    from normbench_cli.runs.environment import installed_version

    found = installed_version("torchvision")
    return found != "missing", found, "" if found != "missing" else "pip install torchvision"


def check_device() -> Finding:
    from normbench_cli.device import device_name, driver_version, pick_device

    device = pick_device()
    do = "" if device.type != "cpu" else "works; an accelerator would be faster, and needs its build of torch"
    return True, f"{device}: {device_name(device)} {driver_version(device)}".strip(), do


def check_compiler() -> Finding:
    """torch.compile is tried on something small: it needs a C++ compiler on a CPU and Triton on a GPU."""
    import torch

    from normbench_cli.device import pick_device

    x = torch.ones(8, device=pick_device())
    try:
        torch.compile(lambda t: torch.sin(t) + 1)(x)
    except Exception as error:  # whatever it is, it means that compiling does not work here
        do = "works without, slower; install a C++ compiler (g++, clang), on a GPU Triton"
        return True, f"torch.compile fails: {type(error).__name__}", do
    return True, "torch.compile works", ""


def check_home() -> Finding:
    from normbench_cli import paths

    try:
        paths.ensure_writable(paths.home(), "NORMBENCH_HOME")
    except NormbenchError as error:
        return False, "", str(error)
    return True, str(paths.home()), ""


def check_database(location: str | None) -> Finding:
    from normbench_cli import paths
    from normbench_cli.store import Store
    from normbench_cli.store.errors import NoDatabase

    try:
        with Store.open(location, create=False) as store:
            return True, f"{store.location}: {store.count()} runs", ""
    except NoDatabase:
        return True, f"none yet at {paths.database(location)}", "`normbench train` makes it"
    except NormbenchError as error:
        return False, "", str(error)


def check_data() -> Finding:
    from normbench_cli import paths

    root = paths.data_root()
    found = sorted(path.name for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    if found:
        return True, f"{root}: {', '.join(found)}", ""
    return True, f"digits (embedded); nothing in {root}", "set NORMBENCH_DATA to where your data sets are"
