"""What a suite needs to be run, each run once, and what of it is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from normbench_cli import suites
from normbench_cli.experiments.chosen_scale import record_scale, recorded_scale
from normbench_cli.experiments.jobs import Job, attacks_of, make_jobs, with_state
from normbench_cli.experiments.reproduce import plan_reproduction
from normbench_cli.store import Store
from normbench_cli.suites import Place, Scale, Suite

SMOKE = Scale("smoke")
MINE = """
metric = "test/accuracy"
seeds = "0-1"
[settings]
data = "digits:size=8"
model = "mlp"
iterations = 2
[rows]
clean = {}
BIM = { metric = "test/accuracy@bim:steps=2" }
[columns]
BN = { norm = "batchnorm" }
POP = { norm = "popnorm" }
"""


@pytest.fixture
def mine(tmp_path: Path) -> Suite:
    (tmp_path / "mine.toml").write_text(MINE)
    return suites.find(str(tmp_path / "mine.toml"))


def enter(job: Job, status: str, metrics: dict[str, float] | None = None) -> str:
    with Store.open() as store:
        run_id = store.begin(job.config.to_dict(), job.fingerprint, {}, argv=[])
        store.record(run_id, metrics or {})
        if status != "running":
            store.end(run_id, status)
    return run_id


def test_cells_that_need_the_same_run_share_a_job_and_the_first_seed_of_all_comes_first(mine: Suite) -> None:
    jobs = make_jobs([mine, mine], Scale("full"))
    assert [(job.config.norm, job.config.seed) for job in jobs] == [
        ("batchnorm", 0),
        ("popnorm", 0),
        ("batchnorm", 1),
        ("popnorm", 1),
    ]
    assert jobs[0].attacks == ("bim:steps=2",)
    assert jobs[0].places == (Place("mine", "clean", "BN", 0), Place("mine", "BIM", "BN", 0))


def test_all_suites_together_are_a_hundred_runs_at_smoke() -> None:
    jobs = make_jobs(suites.select(["all"]), SMOKE)
    places = [place for job in jobs for place in job.places]
    assert len(places) == len(set(places)) == sum(len(suite.cells) for suite in suites.select(["all"]))
    assert len({job.fingerprint for job in jobs}) == len(jobs) < 130
    assert [job.config.data for job in jobs] == sorted(job.config.data for job in jobs)


def test_only_conditions_that_are_attacks_are_evaluated() -> None:
    assert attacks_of("test/accuracy@bim:clip=galloway") == ("bim:clip=galloway",)
    assert attacks_of("test/accuracy@best") == attacks_of("data/train_images@male") == ()


@pytest.mark.parametrize(
    ("status", "metrics", "work"),
    [
        ("finished", {"test/accuracy@bim:steps=2": 0.1}, ""),
        ("finished", {}, "evaluate"),
        ("diverged", {}, ""),
        ("failed", {}, "train"),
        ("interrupted", {}, "resume"),
        ("running", {}, ""),
    ],
)
def test_what_is_left_of_a_job(mine: Suite, status: str, metrics: dict[str, float], work: str) -> None:
    jobs = make_jobs([mine], Scale("full"))
    run_id = enter(jobs[0], status, metrics)
    first, second = with_state(jobs, None)[:2]
    assert (first.status, first.run_id, first.work, first.done) == (
        status,
        run_id,
        work,
        not work and status != "running",
    )
    assert first.unmeasured == (("bim:steps=2",) if work else ())
    assert (second.work, second.unmeasured) == ("train", ("bim:steps=2",))


def test_without_a_database_everything_is_left(mine: Suite, home: Path) -> None:
    assert {(job.work, job.unmeasured) for job in with_state(make_jobs([mine], SMOKE), None)} == {
        ("train", ("bim:steps=2",))
    }
    assert not home.exists()


def test_a_run_without_the_probes_that_a_cell_needs_is_run_again() -> None:
    suite = suites.find("interpretations/figure3")
    job = make_jobs([suite], SMOKE)[0]
    without = job.config.to_dict() | {"probes": 0}
    with Store.open() as store:
        run_id = store.begin(without, job.fingerprint, {}, argv=[])
        store.end(run_id, "finished")
    assert with_state([job], None)[0].work == "train"


def test_data_sets_are_described_once() -> None:
    jobs = make_jobs([suites.find("augnorm-vision/table3")], SMOKE)
    (job,) = jobs
    assert (job.describes, len(job.places)) == ("shifted_digits", 17)
    enter(job, "finished")
    assert with_state(jobs, None)[0].done


def test_a_finished_suite_plans_without_measuring(mine: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    for job in make_jobs([mine], Scale("full")):
        enter(job, "finished", {"test/accuracy@bim:steps=2": 0.1})
    monkeypatch.setitem(__import__("sys").modules, "normbench_cli.experiments.estimates", None)
    plan = plan_reproduction([mine], Scale("full"))
    assert (plan.due, plan.missing, len(plan.recorded)) == ([], [], 8)


def test_the_same_budget_finds_the_same_schedule_again(mine: Suite) -> None:
    asked, chosen = Scale("short"), Scale("short", fraction=0.05, most_seeds=1)
    assert recorded_scale([mine], asked, 60.0, None) is None
    record_scale([mine], asked, chosen, 60.0, 55.0, {}, None)
    assert recorded_scale([mine], asked, 60.0, None) == (chosen, 55.0)
    assert recorded_scale([mine], asked, 61.0, None) is None


def test_the_jobs_of_all_suites_are_planned_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("normbench_cli.build.resolved_fingerprint", lambda *_: pytest.fail("it loads torch"))
    assert len(make_jobs(suites.select(["all"]), Scale("smoke"))) > 100
