"""Cells as SLURM jobs, through submitit; without SLURM, as processes on this machine.

Partition, account and the like come from the variables that sbatch reads (SBATCH_PARTITION, SBATCH_ACCOUNT, ...).  A
job that SLURM preempts, or that reaches its time limit, is requeued and continues from its last checkpoint.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import submitit
from submitit.core.utils import DelayedSubmission, FailedJobError, UncompletedJobError

from normbench_cli import paths
from normbench_cli.device import usable_cores
from normbench_cli.errors import UsageError, last_line
from normbench_cli.experiments.executors.choice import Choice
from normbench_cli.experiments.executors.protocol import Ended, Failed, Lost, Outcome, Started, Task, TaskEvent, Work
from normbench_cli.experiments.executors.worker import run_task
from normbench_cli.interrupts import held_back

POLL_SECONDS = 0.1
SLURM_POLL_SECONDS = 60.0  # it calls sacct, which puts load on SLURM's database
MOST_AT_ONCE = 1000  # jobs of one array
STOP_SECONDS = 40.0  # SLURM kills a job 30 s after the first signal
NO_SLURM = "there is no SLURM here: the jobs are processes of this machine"


class Requeued:
    """`run_task` in a form that submitit can requeue."""

    def __call__(self, task: Task) -> Outcome:
        return run_task(task)

    def checkpoint(self, task: Task) -> DelayedSubmission:
        return DelayedSubmission(self, task)


def make_executor(choice: Choice, _works: Sequence[Work]) -> SubmititExecutor:
    return SubmititExecutor(choice)


class SubmititExecutor:
    """`jobs` limits the number of concurrent jobs; without SLURM, its default is what the cores allow."""

    def __init__(self, choice: Choice, cluster: str | None = None) -> None:
        per_run, folder = choice.per_run, paths.home().absolute() / "submitit"
        if 0 < per_run.gpus < 1:
            raise UsageError(f"--per-run gpus={per_run.gpus:g}, but SLURM allocates whole GPUs", "give gpus=1")
        paths.ensure_writable(folder, "NORMBENCH_HOME")
        folder.chmod(0o700)  # tasks contain the credentials of the database
        self._executor = submitit.AutoExecutor(folder=folder, cluster=cluster)
        self._executor.update_parameters(
            name="normbench",
            timeout_min=math.ceil(per_run.hours * 60),
            cpus_per_task=math.ceil(per_run.cpus or 1),
            gpus_per_node=int(per_run.gpus) or None,
            slurm_array_parallelism=choice.jobs or MOST_AT_ONCE,
        )
        self._local = self._executor.cluster == "local"
        self.notices: Sequence[str] = [NO_SLURM] * (self._local and cluster is None)
        cores = max(1, usable_cores() // (per_run.threads or 1))
        self._most = choice.jobs or (cores if self._local else None)
        self._waiting: list[Task] = []
        self._jobs: dict[str, submitit.Job[Outcome]] = {}
        self._started: set[str] = set()
        self._next_look = time.monotonic() + SLURM_POLL_SECONDS

    def submit(self, tasks: Sequence[Task]) -> None:
        self._waiting += tasks

    def poll(self, seconds: float) -> Sequence[TaskEvent]:
        end = time.monotonic() + seconds
        while True:
            self._fill()
            found = [*self._newly_started(), *self._ended()]
            if found or time.monotonic() > end:
                return found
            time.sleep(POLL_SECONDS)

    def _fill(self) -> None:
        """Submit the tasks that may run now, as one array."""
        room = len(self._waiting) if self._most is None else max(0, self._most - len(self._jobs))
        tasks, self._waiting = self._waiting[:room], self._waiting[room:]
        if not tasks:
            return
        with held_back():
            with self._executor.batch():
                jobs = [self._executor.submit(Requeued(), task) for task in tasks]
            self._started -= {task.id for task in tasks}
            self._jobs |= {task.id: job for task, job in zip(tasks, jobs, strict=True)}

    def _newly_started(self) -> list[TaskEvent]:
        new = [name for name, job in self._jobs.items() if name not in self._started and job.paths.stdout.exists()]
        self._started |= set(new)
        return [Started(name) for name in new]

    def _ended(self) -> list[TaskEvent]:
        if due := time.monotonic() > self._next_look:
            self._next_look = time.monotonic() + SLURM_POLL_SECONDS
        done = [name for number, (name, job) in enumerate(self._jobs.items()) if job.done(due and not number)]
        return [self._event(name, self._jobs.pop(name)) for name in done]

    def _event(self, task: str, job: submitit.Job[Outcome]) -> TaskEvent:
        """The event of a job that has ended.  Its files are removed; its logs stay if something went wrong."""
        found: TaskEvent = Lost(task, f"job {job.job_id} has left no result; its log is {job.paths.stderr}")
        try:
            if (
                job.paths.result_pickle.exists() or not self._local
            ):  # on a network file system it may appear later: `result` waits
                found = Ended(task, job.result())
                job.paths.stdout.unlink(missing_ok=True)
                job.paths.stderr.unlink(missing_ok=True)
        except FailedJobError as error:
            found = Failed(task, last_line(error))
        except UncompletedJobError:
            pass
        for file in (job.paths.submitted_pickle, job.paths.result_pickle, job.paths.submission_file):
            file.unlink(missing_ok=True)
        return found

    def close(self) -> None:
        """Cancel the jobs, and wait until they have ended."""
        self._waiting.clear()
        for job in self._jobs.values():
            job.cancel(check=False)  # it may have ended just now
        end = time.monotonic() + STOP_SECONDS
        while self._jobs and time.monotonic() < end:
            time.sleep(POLL_SECONDS)
            self._ended()
