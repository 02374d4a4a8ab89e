"""Jobs of a suite that workers do, and what is left of one that another process has made."""

from __future__ import annotations

import pytest

from normbench_cli.experiments.events import ignore
from normbench_cli.experiments.jobs import Job
from normbench_cli.experiments.run_jobs import JobWork
from normbench_cli.store import Store
from normbench_cli.store.errors import Taken
from tests.experiments.executors.support import works

ATTACK = "bim:steps=2"


def job_work() -> JobWork:
    (cell,) = works(norm="batchnorm")
    return JobWork(Job(cell.config, cell.fingerprint, attacks=(ATTACK,), unmeasured=(ATTACK,)), "smoke")


def begin(store: Store, work: JobWork) -> str:
    return store.begin(work.config.to_dict(), work.fingerprint, {}, argv=[])


def test_a_job_that_another_process_does_is_left_to_it() -> None:
    work = job_work()
    with Store.open() as store:
        begin(store, work)
        with pytest.raises(Taken, match="is running"):
            work.run(store, ignore)


def test_scores_that_another_process_has_not_measured_are_left() -> None:
    work = job_work()
    with Store.open() as store:
        run_id = begin(store, work)
        store.end(run_id, "finished")
        assert work.made(run_id, store) is None
        rest = work.again(run_id, "finished", store)
        assert (rest.job.work, rest.job.unmeasured, rest.job.run_id) == ("evaluate", (ATTACK,), run_id)
        store.record(run_id, {f"test/accuracy@{ATTACK}": 0.5})
        made = work.made(run_id, store)
        assert made is not None
        assert made.metrics == {f"test/accuracy@{ATTACK}": 0.5}


def test_what_failed_elsewhere_is_not_tried_again() -> None:
    work = job_work()
    with Store.open() as store:
        run_id = begin(store, work)
        store.end(run_id, "failed", "no memory")
        made = work.made(run_id, store)
        assert made is not None
        assert (made.status, made.message) == ("failed", "no memory")
