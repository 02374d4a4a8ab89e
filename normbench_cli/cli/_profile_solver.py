"""`normbench profile --solver`: the tables, the plots and the JSON.  Loads torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from normbench_cli import interrupts, paths
from normbench_cli.cli._document import print_document
from normbench_cli.cli._options import Common
from normbench_cli.cli._output import hint, print_json
from normbench_cli.cli._profile_options import WorkOptions
from normbench_cli.cli._progress import profile_progress
from normbench_cli.errors import EXIT_OK, NormbenchError, UsageError
from normbench_cli.experiments.profile import record_activations
from normbench_cli.experiments.profiling.solver import CHANNELS, PHIS, VALUES, SolverPlan, plan_solver, run_solver
from normbench_cli.registry.trust import allow_packages
from normbench_cli.reporting import files
from normbench_cli.reporting.profiles.solver import head_of, to_document
from normbench_cli.store import Store

if TYPE_CHECKING:
    from torch import Tensor

Row = dict[str, Any]


class Asked(NamedTuple):
    """The options: phi as text, the shapes, the minimum number of rounds, the seconds."""

    phi: str
    shapes: list[tuple[int, ...]]
    rounds: int
    seconds: float


def profile_solver(settings: Mapping[str, Any], asked: Asked, work: WorkOptions, common: Common) -> int:
    """work: the files to write, by default as for a report; a run whose activations are the data."""
    paths.set_plot_cache()
    formats = files.parse_formats(work.form if work.form is not None else "" if common.json else "md")
    with interrupts.raised(), Store.open(common.db) as store:
        plan = make_plan(settings, asked, work, store)
        with profile_progress(plan.places, quiet=common.quiet) as shown:
            outcome = run_solver(plan, store, lambda rows: shown(list(map(line_of, last_rows(rows)))))
    lost = outcome.pop("lost")
    document = to_document(outcome["results"], head_of(outcome["environment"]))
    if common.json:
        print_json(outcome)
    else:
        print_document(document)
    if formats:
        for line in files.write_files(document, work.out, formats, stem="solver"):
            hint(f"written: {line}", common.quiet)
    if lost:
        raise NormbenchError("; ".join(lost), "keep what was printed, or profile again")
    return EXIT_OK


def make_plan(settings: Mapping[str, Any], asked: Asked, work: WorkOptions, store: Store) -> SolverPlan:
    if len(asked.shapes) > 1:
        raise UsageError("--solver takes one --shape", "write the number of values and channels, like 8192x64")
    if work.from_run and asked.shapes:
        raise UsageError("--from-run gives the values that the run's layers see", "drop --shape")
    shape = asked.shapes[0] if asked.shapes else (VALUES, CHANNELS)
    phis = parse_phis(asked.phi) if asked.phi else PHIS
    data = values_of(work, settings, store) if work.from_run else None
    return plan_solver(phis, settings=settings, data=data, shape=shape, rounds=asked.rounds, seconds=asked.seconds)


def values_of(work: WorkOptions, settings: Mapping[str, Any], store: Store) -> dict[str, Tensor]:
    """The inputs of a trained network's norms, one layer of each shape: (values, channels)."""
    allow_packages(work.allow)
    device = str(settings.get("device", "auto"))
    found = record_activations(work.from_run, store, device=device, layer=work.layer, force=work.force)
    return {f"{one.layer} {found.label}": one.x.detach().movedim(1, -1).flatten(0, -2) for one in found.values.values()}


def parse_phis(text: str) -> list[float]:
    try:
        return list(dict.fromkeys(float(piece) for piece in text.split(",")))
    except ValueError:
        raise UsageError(f"--phi {text} is not a list of numbers", "write 1.2,1.5,3") from None


def last_rows(rows: list[Row]) -> list[Row]:
    """Each solver's error after the most passes."""
    return list({row["contender"]: row for row in rows if row["metric"] == "solver/error"}.values())


def line_of(row: Row) -> str:
    """normal, phi 1.5, safe: error 2e-08 sd after 3 passes"""
    return (
        f"{row['data']}, phi {row['phi']:g}, {row['contender']}: error {row['largest']:.0e} sd after"
        f" {row['used_max']:.0f} passes"
    )
