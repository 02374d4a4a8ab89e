"""The entry point of ``normbench`` and ``python -m normbench_cli``."""

from normbench_cli import interrupts

interrupts.quit_at_once()  # loading the commands takes a moment; an interrupt meanwhile must not print a traceback

from normbench_cli.cli.main import main  # noqa: E402

if __name__ == "__main__":
    main()
