"""Which process this one is: torchrun's variables always count, srun's only if as many processes are asked for."""

from __future__ import annotations

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.experiments.distributed.rank import Rank, launched_rank

TORCHRUN = {"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "node1", "MASTER_PORT": "29500"}
SRUN = {"SLURM_PROCID": "1", "SLURM_LOCALID": "0", "SLURM_STEP_NUM_TASKS": "2"}
MEETING = {"MASTER_ADDR": "node1", "MASTER_PORT": "29500"}


def test_torchrun_says_which_process_this_is() -> None:
    assert launched_rank(None, TORCHRUN) == Rank(rank=3, size=4, local_rank=1)
    assert launched_rank("4", TORCHRUN) == Rank(rank=3, size=4, local_rank=1)
    assert launched_rank(None, TORCHRUN | {"WORLD_SIZE": "1"}) is None


def test_another_number_than_that_of_the_processes_is_refused() -> None:
    with pytest.raises(UsageError, match="nproc is 2, and 4 processes were started; drop --nproc, or give 4"):
        launched_rank("2", TORCHRUN)


def test_a_job_of_slurm_is_one_process_unless_it_asks_for_as_many_as_srun_has_started() -> None:
    assert launched_rank(None, SRUN | MEETING) is None
    assert launched_rank("4", SRUN | MEETING) is None
    assert launched_rank("2", SRUN | MEETING) == Rank(rank=1, size=2, local_rank=0)


def test_processes_of_srun_must_know_where_to_meet() -> None:
    with pytest.raises(UsageError, match="MASTER_ADDR"):
        launched_rank("2", SRUN)
