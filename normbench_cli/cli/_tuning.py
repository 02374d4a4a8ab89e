"""What `tune` does and prints: the trials, the tables, the files.  Loads torch, Optuna and pandas."""

from __future__ import annotations

from pathlib import Path

from normbench_cli import interrupts, paths
from normbench_cli.cli._document import print_document
from normbench_cli.cli._options import Common
from normbench_cli.cli._output import hint, print_json
from normbench_cli.cli._progress import training_progress
from normbench_cli.errors import EXIT_INCOMPLETE, EXIT_OK, NormbenchError
from normbench_cli.experiments.tuning.request import TuneRequest
from normbench_cli.experiments.tuning.run import recorded_request, tune
from normbench_cli.reporting.files import parse_formats, write_files
from normbench_cli.reporting.query import NothingMeasured
from normbench_cli.reporting.tuning.document import make_document, to_json
from normbench_cli.reporting.tuning.read import read_tuning
from normbench_cli.store import Store
from normbench_cli.store.errors import NoDatabase


def run(request: TuneRequest, form: str | None, out: Path, common: Common) -> int:
    """Run what is left of a tuning, and report it."""
    formats = formats_of(form, common)
    if formats:
        paths.ensure_writable(out, "--out")  # before hours of work, not after
    runs = request.runs
    with interrupts.raised(), training_progress(runs, quiet=common.quiet) as on_event:
        made = tune(request, common.db, on_event)
    if made.failed and all(not finals for finals in made.finals):
        raise NormbenchError(f"no contender could be tuned, the first failed with: {made.failed[0]}")
    for reason in dict.fromkeys(made.failed):
        hint(f"failed: {reason}")
    show(made.id, formats, out, common)
    return EXIT_INCOMPLETE if made.failed else EXIT_OK


def resume(tuning: str, form: str | None, out: Path, common: Common) -> int:
    """Run what is left of a recorded tuning."""
    return run(recorded_request(tuning, common.db), form, out, common)


def report(tuning: str, form: str | None, out: Path, common: Common) -> int:
    """Report a recorded tuning."""
    show(tuning, formats_of(form, common), out, common)
    return EXIT_OK


def formats_of(form: str | None, common: Common) -> list[str]:
    paths.set_plot_cache()
    return parse_formats(form if form is not None else "" if common.json else "md")


def show(text: str, formats: list[str], out: Path, common: Common) -> None:
    """Print a tuning and write its files; figures only go to files."""
    try:
        with Store.open(common.db, write=False) as store:
            tuning = read_tuning(store, text)
            document = make_document(store, tuning)
    except NoDatabase as error:
        raise NothingMeasured(str(error)) from error
    if common.json:
        print_json(to_json(tuning, document))
    else:
        print_document(document)
    if formats:
        for line in write_files(document, out, formats, stem=f"tune-{tuning.id}"):
            hint(f"written: {line}", common.quiet)
