"""The program: its commands, and the one place where an error becomes a line and an exit code."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

import typer

from normbench_cli import __version__
from normbench_cli.cli import db, doctor, profile, report, runs, train
from normbench_cli.cli import eval as eval_command
from normbench_cli.cli import list as list_command
from normbench_cli.errors import EXIT_ERROR, EXIT_INTERRUPTED, NormbenchError

app = typer.Typer(
    name="normbench",
    help="The laboratory for normalization layers: train, measure and compare them, and keep what was found.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def show_version(wanted: bool) -> None:
    if wanted:
        print(f"normbench {__version__}")
        raise typer.Exit


@app.callback()
def normbench(
    version: bool = typer.Option(False, "--version", callback=show_version, is_eager=True, help="Show the version."),
) -> None:
    """The laboratory for normalization layers: train, measure and compare them, and keep what was found."""


app.command("train")(train.train)
app.command("eval")(eval_command.evaluate)
app.command("profile")(profile.profile)
app.command("report")(report.report)
app.add_typer(runs.app, name="runs")
app.add_typer(db.app, name="db")
app.command("list")(list_command.show)
app.command("doctor")(doctor.doctor)


def main() -> NoReturn:
    """Run a command; every error ends here, as one line on stderr."""
    debug = "--debug" in sys.argv
    gc.set_threshold(10_000)  # what imports make lasts: looking for garbage in it took a fifth of their time
    try:
        code = app(standalone_mode=False)
        if code == EXIT_INTERRUPTED:
            print("normbench: interrupted; what was done is recorded", file=sys.stderr)
    except NormbenchError as error:
        code = fail(error, error.exit_code, debug)
    except typer.TyperException as error:
        code = fail(f"{error.format_message()} (see --help)", error.exit_code, debug)
    except (KeyboardInterrupt, typer.Abort):
        code = fail("interrupted", EXIT_INTERRUPTED, debug)
    except BrokenPipeError:  # the reader of our output has gone, as in `normbench report | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:  # a fault of ours: still one line, and how to see more
        kind = type(error).__name__
        code = fail(f"unexpected {kind}: {error}; run again with --debug to see where", EXIT_ERROR, debug)
    gc.freeze()  # nor is it looked through once more on the way out: with torch, most of a second
    sys.exit(code or 0)


def fail(message: object, code: int, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exc()
    line = " ".join(str(message).split())
    print(f"normbench: {line}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
