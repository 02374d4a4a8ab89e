"""The entry point of ``normbench`` and ``python -m normbench_cli``."""

from typing import NoReturn

from normbench_cli import interrupts

interrupts.quit_at_once()  # loading the commands takes a moment; an interrupt meanwhile must not print a traceback

from normbench_cli.cli.main import main  # noqa: E402


def run() -> NoReturn:
    """Run the command line.  After an interrupt, threads of libraries are not waited for."""
    try:
        main()
    except SystemExit as end:
        interrupts.exit_if_interrupted(end.code)
        raise


if __name__ == "__main__":
    run()
