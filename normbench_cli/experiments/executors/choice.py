"""Which executor runs the cells of a grid, and the resources of each run.  Imports no executor until it is opened."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, fields, replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import suggest

if TYPE_CHECKING:
    from normbench_cli.experiments.executors.protocol import Executor, Work

EXTRAS = {"ray": "ray", "submitit": "slurm"}  # executors that need a package of that name, and its extra
EXECUTORS = ("local", *EXTRAS)


@dataclass(frozen=True)
class PerRun:
    """The resources of one run.  cpus: cores; None for its share of the machine.  gpus: with a fraction, runs share a
    GPU.  hours: SLURM's time limit."""

    cpus: float | None = None
    gpus: float = 0.0
    hours: float = 24.0

    @property
    def threads(self) -> int | None:
        """The number of torch threads of a run; None for as many as its process has."""
        return None if self.cpus is None else max(1, int(self.cpus))


@dataclass(frozen=True)
class Choice:
    """jobs: the maximum number of concurrent runs.  address: of a Ray cluster."""

    executor: str
    jobs: int | None = None
    per_run: PerRun = PerRun()
    address: str | None = None

    def words(self) -> list[str]:
        """The command-line options for this choice."""
        takes = {one.name: getattr(self.per_run, one.name) for one in fields(PerRun)}
        given = {
            "--executor": self.executor,
            "--jobs": self.jobs,
            "--per-run": ",".join(f"{name}={value:g}" for name, value in takes.items() if value is not None),
            "--address": self.address,
        }
        return [word for name, value in given.items() if value is not None for word in (name, str(value))]


def choose(
    executor: str | None, jobs: int | None = None, per_run: str | None = None, address: str | None = None
) -> Choice | None:
    """Check options or keywords and return the choice; None for sequential runs in this process."""
    if executor is None:
        others = {"--jobs": jobs, "--per-run": per_run, "--address": address}
        for option, value in others.items():
            if value is not None:
                needed = "ray" if option == "--address" else "local"
                raise UsageError(f"{option} is for an executor, and none is given", f"add --executor {needed}")
        return None
    if executor not in EXECUTORS:
        raise UsageError(f"--executor {executor} is not known", suggest(executor, list(EXECUTORS)))
    if address is not None and executor != "ray":
        raise UsageError(f"--address is for --executor ray, and the executor is {executor}", "drop --address")
    if jobs is not None and jobs < 1:
        raise UsageError(f"--jobs is {jobs}", "give 1 or more")
    require(executor)
    takes = parse_per_run(per_run or "")
    if executor != "local" and takes.cpus is None:
        takes = replace(takes, cpus=1.0)  # a scheduler needs a number
    return Choice(executor, jobs, takes, address)


def require(executor: str) -> None:
    """Reject an executor whose package is not installed."""
    if executor in EXTRAS and find_spec(executor) is None:
        do = f'pip install "normbench[{EXTRAS[executor]}]"'
        raise UsageError(f"--executor {executor} needs the package {executor}", do)


def parse_per_run(text: str) -> PerRun:
    """Parse ``cpus=2,gpus=0.5``."""
    known = [one.name for one in fields(PerRun)]
    given: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.strip().partition("=")
        if name not in known:
            raise UsageError(f"--per-run has no '{name}'", suggest(name, known))
        given[name] = amount(name, value)
    return PerRun(**given)


def amount(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (0 <= number < math.inf) or (number == 0 and name != "gpus"):
        raise UsageError(f"--per-run {name}={text} is not an amount", f"write {name}=1 or {name}=2.5")
    if number > 1 and name == "gpus" and number != int(number):
        raise UsageError(f"--per-run gpus={text} is neither a part of a GPU nor whole GPUs", "write gpus=0.5 or gpus=2")
    return number


def open_executor(choice: Choice, works: Sequence[Work]) -> AbstractContextManager[Executor]:
    """Open the executor for these works; at the end of the block, runs that are still in progress are stopped."""
    module = import_module(f"{__package__}.{choice.executor}")
    executor: Executor = module.make_executor(choice, works)
    return closing(executor)
