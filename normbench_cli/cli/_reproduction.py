"""What `reproduce` prints: first what is done and what will run, afterwards the verdict.  Loads pandas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from normbench_cli import interrupts, paths
from normbench_cli.cli._document import print_document
from normbench_cli.cli._options import Common
from normbench_cli.cli._output import hint, print_json, print_table
from normbench_cli.cli._progress import grid_progress
from normbench_cli.cli._tables import duration
from normbench_cli.errors import EXIT_INCOMPLETE, EXIT_NOTHING_MEASURED, EXIT_OK, NormbenchError
from normbench_cli.experiments.executors.choice import Choice
from normbench_cli.experiments.reproduce import Plan, after, plan_reproduction, recorded_plan, run_plan
from normbench_cli.reporting.document import Document
from normbench_cli.reporting.files import parse_formats, write_files
from normbench_cli.reporting.reproduction.document import make_document
from normbench_cli.store import Store
from normbench_cli.suites import Place, Scale, Suite, names


class NothingRun(NormbenchError):
    """No cell has a result, and none could be run."""

    exit_code = EXIT_NOTHING_MEASURED


def dry_run(suites: Sequence[Suite], scale: Scale, budget: float, common: Common) -> int:
    """Print which cells are done, which would run, and for about how long."""
    plan = plan_reproduction(suites, scale, budget, common.db)
    if common.json:
        print_json(plan_json(plan))
    else:
        print_table([plan_row(plan, suite) for suite in suites], caption="\n".join(announcement(plan)))
    return EXIT_OK


def run(
    suites: Sequence[Suite],
    scale: Scale,
    budget: float,
    form: str | None,
    out: Path,
    choice: Choice | None,
    common: Common,
    *,
    no_run: bool = False,
) -> int:
    """Run what is due, and print and write the verdict.  A report to which nothing was added is not rewritten."""
    paths.set_plot_cache()
    formats = parse_formats(form if form is not None else "" if common.json else "md")
    if formats:
        paths.ensure_writable(out, "--out")  # before hours of work, not after
    plan = (recorded_plan if no_run else plan_reproduction)(suites, scale, budget, common.db)
    for line in announcement(plan):
        hint(line, common.quiet)
    failed, left = dict[str, str](), [*plan.due, *plan.elsewhere]
    if left:
        with interrupts.raised(), grid_progress([job.config for job in left], (), choice, common) as on_event:
            failed = run_plan(plan, common.db, on_event, choice)
    plan = after(plan, common.db)
    missing = plan.reasons(failed)
    if missing and not plan.recorded and not no_run:
        raise NothingRun(f"no cell could be run: {next(iter(missing.values()))}", "see --dry-run")
    with Store.open(common.db, write=False) as store:
        document = make_document(store, suites, plan.scale, plan.recorded, missing, details="html" in formats)
    show(document, plan, missing, common)
    stem = stem_of(suites, plan.scale)
    if formats and (left or form is not None or not any(out.glob(f"{stem}.*"))):
        for line in write_files(document, out, formats, stem=stem):
            hint(f"written: {line}", common.quiet)
    elif formats:
        hint(f"nothing new: {out / stem} stays as it is (--format writes it again)", common.quiet)
    if not plan.recorded:
        return EXIT_NOTHING_MEASURED
    return EXIT_INCOMPLETE if missing else EXIT_OK


def stem_of(suites: Sequence[Suite], scale: Scale) -> str:
    """The stem of the files: the paper's name if these are all its suites, else theirs; `suites` for several papers."""
    papers = {suite.name.partition("/")[0] for suite in suites}
    if len(papers) > 1:
        name = "suites"
    elif len(suites) > 1 and len(suites) == sum(one.partition("/")[0] in papers for one in names()):
        name = papers.pop()
    else:
        name = "-".join([*papers, *(suite.name.partition("/")[2] for suite in suites)]).strip("-").replace("/", "-")
    return f"reproduce-{name}-{scale.name}"


def show(document: Document, plan: Plan, missing: Mapping[Place, str], common: Common) -> None:
    if common.json:
        kinds = ("claim", "answer", "open_runs", "setting", "seconds_of_row", "text")
        claims, answers, open_runs, differences, _, _, cells = parted(document.records, *kinds)
        told = {"missing": missing_json(missing), "cells": cells, "claims": claims, "answers": answers}
        print_json(plan_json(plan) | told | {"differences": differences, "open": open_runs})
        return
    print_document(document)
    for reason, count in Counter(missing.values()).items():
        hint(f"{count} {'value is' if count == 1 else 'values are'} missing: {reason}", common.quiet)


def parted(records: Sequence[Mapping[str, Any]], *names: str) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the records that have each of these fields, then the others."""
    for name in names:
        yield [record for record in records if name in record]
    yield [record for record in records if not record.keys() & set(names)]


def missing_json(missing: Mapping[Place, str]) -> list[dict[str, Any]]:
    return [place._asdict() | {"reason": reason} for place, reason in missing.items()]


def announcement(plan: Plan) -> list[str]:
    """What is done, what will run, about how long, and what cannot run."""
    done = sum(job.done for job in plan.jobs)
    lines = [f"{done} of {len(plan.jobs)} runs are recorded"]
    if plan.due:
        lines[0] += f"; {len(plan.due)} are left, about {duration(plan.seconds)}, extrapolated from a few steps"
    if plan.scale.name == "short":
        lengths = dict.fromkeys(str(length) for suite in plan.suites for length in plan.scale.lengths(suite))
        lines.append(f"schedules: {', '.join(lengths) or 'none'}")
    for data, reason in plan.blocked.items():
        count = sum(job.config.data == data for job in plan.missing)
        lines.append(f"{count} {'run' if count == 1 else 'runs'} cannot be made: {reason}")
    running = [job.run_id for job in plan.jobs if job.status == "running"]
    if running:
        lines.append(f"{len(running)} runs are made by another process: {' '.join(running)}")
    return lines


def plan_row(plan: Plan, suite: Suite) -> dict[str, str]:
    """Counts of a suite's cells, by what happens to them."""
    states, due = dict[Place, str](), {job.fingerprint for job in plan.due}
    for job in plan.jobs:
        word = "done" if job.done else "to run" if job.fingerprint in due else "cannot run"
        states |= {place: word for place in job.places if place.suite == suite.name}
    counts = Counter(states.values())
    return {"suite": suite.name, "cells": str(len(suite.cells))} | {
        f"values {word}": str(counts[word]) for word in ("done", "to run", "cannot run")
    }


def plan_json(plan: Plan) -> dict[str, Any]:
    return {
        "suites": [suite.name for suite in plan.suites],
        "scale": plan.scale.name,
        "fraction": plan.scale.fraction,
        "schedules": {suite.name: [str(length) for length in plan.scale.lengths(suite)] for suite in plan.suites},
        "runs": [
            {"id": job.run_id, "fingerprint": job.fingerprint, "status": job.status, "left": job.work}
            for job in plan.jobs
        ],
        "seconds": plan.seconds,
        "blocked": dict(plan.blocked),
    }
