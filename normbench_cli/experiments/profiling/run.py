"""Running a whole profile: measured, recorded and shown place by place."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

from normbench_cli import build, paths
from normbench_cli.experiments.environment import environment
from normbench_cli.experiments.lifecycle import Heartbeat, recording_outcome
from normbench_cli.experiments.profiling.compile_ahead import compile_and_find_peaks
from normbench_cli.experiments.profiling.measure import Measured, measure_place
from normbench_cli.experiments.profiling.plan import ProfilePlan, places
from normbench_cli.experiments.profiling.record import begin_contender, end_contender, record_place
from normbench_cli.experiments.profiling.results import Row, place_columns, result_rows
from normbench_cli.experiments.profiling.roofline import Roofline
from normbench_cli.experiments.profiling.step_worker import STEP_WORKER
from normbench_cli.experiments.profiling.threads import thread_facts
from normbench_cli.experiments.profiling.totals import total_rows
from normbench_cli.measure.peak import CAN_MEASURE, WORKER, PeakProcess
from normbench_cli.store import Store

Show = Callable[[list[Row]], object]


def run_profile(plan: ProfilePlan, store: Store, show: Show = lambda rows: None) -> dict[str, Any]:
    """Measure everything, record every raw sample, and return environment, results, totals and what could not be saved.

    show: called with the rows of each place as soon as it is measured.
    """
    return profile_contenders(plan, store, show)[1]


def peak_process(plan: ProfilePlan) -> PeakProcess:
    return PeakProcess(STEP_WORKER if plan.model else WORKER)


def profile_contenders(
    plan: ProfilePlan, store: Store, show: Show = lambda rows: None, peaks: PeakProcess | None = None
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the recorded run of each norm, and the result of `run_profile`.  peaks: a process shared by several
    profiles."""
    with build.flags_of(plan.configs[0]):
        return profile_as_set(plan, store, show, peaks)


def profile_as_set(
    plan: ProfilePlan, store: Store, show: Show, peaks: PeakProcess | None
) -> tuple[dict[str, str], dict[str, Any]]:
    """Do the work of `profile_contenders` with torch's settings as they are."""
    paths.set_compile_cache()
    facts = environment(plan.device) | thread_facts()
    results: list[Row] = []
    measured: list[Measured] = []
    with (
        recording_outcome(store, lambda run_id: "a profile is not continued: give the command again") as begun,
        nullcontext(peaks) if peaks else peak_process(plan) as memory,
    ):
        if plan.memory and plan.device.type == "cpu" and CAN_MEASURE:
            memory.start()  # it loads torch while the first layers are compiled
        run_ids = {
            config.norm: begun.begin(partial(begin_contender, config, plan, store, facts)) for config in plan.configs
        }
        heartbeat = Heartbeat(store, *run_ids.values())
        roofline = Roofline(facts, plan.device)
        end = time.monotonic() + plan.seconds
        elsewhere = plan.memory and plan.device.type == "cpu"
        peaks_by_place = compile_and_find_peaks(plan, memory, heartbeat.beat) if elsewhere else [None] * plan.places
        for number, place in enumerate(places(plan)):
            now = time.monotonic()
            share = (end - now) / (plan.places - number)
            found = measure_place(plan, place, now + share, heartbeat.beat, roofline, peaks_by_place[number])
            record_place(store, run_ids, found)
            heartbeat.recorded()
            measured.append(found)
            rows = result_rows(found, place_columns(place, plan.device.type, plan.configs[0].amp))
            show(rows)
            results += rows
        for name, run_id in run_ids.items():
            end_contender(store, run_id, name, measured)
    store.flush()
    lost = [sentence for run_id in run_ids.values() if (sentence := store.lost(run_id))]
    return run_ids, {"environment": facts, "results": results, "totals": total_rows(measured), "lost": lost}
