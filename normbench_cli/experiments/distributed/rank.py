"""The rank of this process among those that torchrun or SLURM started."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from normbench_cli.errors import UsageError

SLURM = {"RANK": "SLURM_PROCID", "LOCAL_RANK": "SLURM_LOCALID", "WORLD_SIZE": "SLURM_STEP_NUM_TASKS"}


def check_executor(processes: Iterable[int], executor: str | None) -> None:
    """Reject several processes per run together with an executor, which runs each run in one process."""
    if executor is not None and (most := max(processes, default=1)) > 1:
        raise UsageError(f"nproc is {most}, and --executor {executor} gives a run to one process", "drop one of them")


@dataclass(frozen=True)
class Rank:
    """rank: among all processes.  size: the number of all processes (world size).  local_rank: on this machine."""

    rank: int
    size: int
    local_rank: int


def launched_rank(nproc: object = None, variables: Mapping[str, str] = os.environ) -> Rank | None:
    """The rank that torchrun or srun assigned to this process; None if it was started alone.

    nproc: the value of --nproc.  srun also sets its variables for a single process, so they count only if --nproc names
    the same number of processes.
    """
    found = of_torchrun(variables) or of_srun(nproc, variables)
    if found is not None and nproc is not None and str(nproc) != str(found.size):
        raise UsageError(
            f"nproc is {nproc}, and {found.size} processes were started", f"drop --nproc, or give {found.size}"
        )
    return found


def of_torchrun(variables: Mapping[str, str]) -> Rank | None:
    if not {"RANK", "WORLD_SIZE", "MASTER_ADDR"} <= variables.keys() or variables["WORLD_SIZE"] == "1":
        return None
    return Rank(int(variables["RANK"]), int(variables["WORLD_SIZE"]), int(variables.get("LOCAL_RANK", 0)))


def of_srun(nproc: object, variables: Mapping[str, str]) -> Rank | None:
    if nproc is None or not {*SLURM.values()} <= variables.keys():
        return None
    rank, local_rank, size = (int(variables[name]) for name in SLURM.values())
    if size == 1 or str(size) != str(nproc):
        return None
    if not {"MASTER_ADDR", "MASTER_PORT"} <= variables.keys():
        raise UsageError(
            "srun has started several processes, which do not know where to meet",
            "set MASTER_ADDR to the name of the first node and MASTER_PORT to a free port, the same for all",
        )
    return Rank(rank, size, local_rank)
