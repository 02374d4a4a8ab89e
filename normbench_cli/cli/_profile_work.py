"""The work of `normbench profile`: make one plan or a sweep, run it, print and write the results.  Loads torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from normbench_cli import paths
from normbench_cli.cli import _profile
from normbench_cli.cli._document import print_document
from normbench_cli.cli._output import hint
from normbench_cli.cli._profile_options import WorkOptions
from normbench_cli.cli._progress import profile_progress
from normbench_cli.experiments.profile import (
    ProfilePlan,
    SweepPlan,
    parse_sweep,
    plan_profile,
    plan_sweep,
    record_activations,
    run_sweep,
)
from normbench_cli.registry.trust import allow_packages
from normbench_cli.reporting import files
from normbench_cli.reporting.sweeps import sweep_document
from normbench_cli.store import Store

Shape = tuple[int, ...]


class NamedShapes(NamedTuple):
    """The shapes that the options give: individual ones, a preset, or a model."""

    shapes: list[Shape]
    preset: str | None
    model: str | None

    def __bool__(self) -> bool:
        return any(self)

    def counts(self, settings: Mapping[str, Any]) -> dict[Shape, int]:
        return _profile.given_shapes(self.shapes, self.preset, self.model, settings)


def plan_work(
    work: WorkOptions,
    norms: Sequence[str],
    *,
    settings: dict[str, Any],
    named: NamedShapes,
    usual: Sequence[Shape],
    only: str | None,
    db: str | None,
    **options: Any,
) -> ProfilePlan | SweepPlan:
    """usual: the default shapes of layers.  options: of `plan_profile`."""
    work.check(only=only, names_shapes=bool(named), settings=settings)
    files.parse_formats(work.form or "")
    options |= {"steps": work.step.split(","), "starts": work.start.split(",")}
    if work.from_run:
        return plan_from_run(work, norms, settings, db, **options)
    counts = named.counts(settings)
    if not work.sweep:
        only = only or ("layers" if counts else "both")
        shapes = counts or dict.fromkeys(usual, 1)
        return plan_profile(norms, settings=settings, shapes=shapes, only=only, **options)
    return plan_sweep(
        parse_sweep(work.sweep),
        norms,
        settings=settings,
        shapes=named.counts if named.preset or named.model else counts or {usual[0]: 1},
        only=only or ("model" if "model" in settings and not counts else "layers"),
        **options,
    )


def plan_from_run(
    work: WorkOptions, norms: Sequence[str], settings: dict[str, Any], db: str | None, **options: Any
) -> ProfilePlan:
    allow_packages(work.allow)
    device = settings.get("device", "auto")
    with Store.open(db, create=False) as store:
        found = record_activations(work.from_run, store, device=device, layer=work.layer, force=work.force)
    settings = {**found.settings, **settings}
    return plan_profile(norms, settings=settings, shapes=found.counts, only="layers", activations=found, **options)


def run_shown(plan: ProfilePlan | SweepPlan, store: Store, *, quiet: bool, json: bool = False) -> dict[str, Any]:
    """Run the profile and show results on stderr as they come."""
    if isinstance(plan, ProfilePlan):
        return _profile.run_shown(plan, store, quiet=quiet, json=json)
    with profile_progress(plan.places, quiet=quiet) as shown:
        return run_sweep(plan, store, lambda rows: shown([_profile.line_of(row) for row in _profile.time_rows(rows)]))


def print_outcome(plan: ProfilePlan | SweepPlan, outcome: dict[str, Any], precision: float | None) -> None:
    if isinstance(plan, ProfilePlan):
        _profile.print_profile(outcome, precision)
    else:
        print_document(sweep_document(outcome["results"], outcome["environment"]))


def write_files(work: WorkOptions, outcome: dict[str, Any], *, quiet: bool) -> None:
    """Write the tables and plots of a sweep, if formats are given."""
    formats = files.parse_formats(work.form or "")
    if not formats:
        return
    paths.set_plot_cache()
    document = sweep_document(outcome["results"], outcome["environment"])
    for line in files.write_files(document, work.out, formats, stem="sweep"):
        hint(f"written: {line}", quiet)
