"""The program: its commands, and the one place where an error becomes a line and an exit code."""

from __future__ import annotations

import gc
import os
import sys
import traceback
import warnings
from typing import NoReturn

import typer

from normbench_cli import interrupts
from normbench_cli.cli import compare, db, doctor, nightly, profile, report, reproduce, runs, train, tune
from normbench_cli.cli import eval as eval_
from normbench_cli.cli import list as list_
from normbench_cli.cli._help import Command
from normbench_cli.cli._output import echo
from normbench_cli.cli._words import check_arguments, ignore_stray_completion
from normbench_cli.disk import disk_full, full_disk_in
from normbench_cli.errors import EXIT_ERROR, EXIT_INTERRUPTED, NormbenchError
from normbench_cli.version import __version__

EXPERIMENTS, RESULTS, PROGRAM = "Experiments", "Results", "About normbench"

app = typer.Typer(
    name="normbench",
    help="A benchmark for normalization layers: train, measure and compare them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def show_version(wanted: bool) -> None:
    if wanted:
        print(f"normbench {__version__}")
        raise typer.Exit


@app.callback(epilog="Examples:\n  normbench train --norm popnorm,batchnorm --seeds 0-4\n  normbench report")
def normbench(
    version: bool = typer.Option(False, "--version", callback=show_version, is_eager=True, help="Show the version."),
) -> None:
    """A benchmark for normalization layers: train, measure and compare them."""


app.command("train", cls=Command, rich_help_panel=EXPERIMENTS)(train.train)
app.command("tune", cls=Command, rich_help_panel=EXPERIMENTS)(tune.tune)
app.command("eval", cls=Command, rich_help_panel=EXPERIMENTS)(eval_.evaluate)
app.command("profile", cls=Command, rich_help_panel=EXPERIMENTS)(profile.profile)
app.command("reproduce", cls=Command, rich_help_panel=EXPERIMENTS)(reproduce.reproduce)
app.add_typer(nightly.app, name="nightly", rich_help_panel=EXPERIMENTS)
app.command("report", cls=Command, rich_help_panel=RESULTS)(report.report)
app.command("compare", cls=Command, rich_help_panel=RESULTS)(compare.compare_two)
app.add_typer(runs.app, name="runs", rich_help_panel=RESULTS)
app.add_typer(db.app, name="db", rich_help_panel=RESULTS)
app.command("list", cls=Command, rich_help_panel=PROGRAM)(list_.list_components)
app.command("doctor", cls=Command, rich_help_panel=PROGRAM)(doctor.doctor)


def main() -> NoReturn:
    """Run a command; every error ends here, as one line on stderr."""
    # Not read from the parsed options: parsing errors have tracebacks, too.
    debug = "--debug" in sys.argv
    hide_warnings(debug)
    interrupts.quit_at_once()
    gc.set_threshold(10_000)  # objects created by imports are long-lived: passes over them cost 20 % of start-up
    try:
        check_arguments(sys.argv[1:])
        ignore_stray_completion()
        code = app(standalone_mode=False)
        sys.stdout.flush()  # the output may be full or closed
        if code == EXIT_INTERRUPTED:  # typer caught it while parsing the command line
            fail("interrupted", code, debug=False)
    except NormbenchError as error:
        code = fail(error, error.exit_code, debug)
    except typer.TyperException as error:
        code = fail(f"{error.format_message()} (see --help)", error.exit_code, debug)
    except (KeyboardInterrupt, typer.Abort):
        code = fail("interrupted", EXIT_INTERRUPTED, debug)
    except BrokenPipeError:  # the reader of the output has gone, as in `normbench report | head`
        drop_output()
        code = 0
    except Exception as error:  # a full disk anywhere, or a bug: both get one line, too
        if (full := full_disk_in(error)) is not None:
            code = fail(disk_full(full.filename or "the output", full), EXIT_ERROR, debug)
            if full.filename is None:
                drop_output()  # what did not fit would be flushed again at exit
        else:  # a bug in normbench
            kind = type(error).__name__
            code = fail(f"unexpected {kind}: {error}; run again with --debug to see the traceback", EXIT_ERROR, debug)
    gc.freeze()  # skip the final collection: with torch loaded it takes most of a second
    sys.exit(code or 0)


def drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def hide_warnings(debug: bool) -> None:
    """Hide library warnings, meant for programmers, unless ``--debug`` or Python's own options ask for them.

    The filters stay as they are, so tests still turn warnings into errors.
    """
    if not (debug or sys.warnoptions):
        warnings.showwarning = lambda *_args, **_kwargs: None


def fail(message: object, code: int, debug: bool) -> int:
    if debug:
        echo(traceback.format_exc().rstrip("\n"), sys.stderr)
    echo(f"normbench: {' '.join(str(message).split())}", sys.stderr)
    return code


if __name__ == "__main__":
    main()
