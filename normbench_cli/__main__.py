"""The program: ``normbench`` and ``python -m normbench_cli``."""

from normbench_cli import interrupts

interrupts.quit_at_once()  # loading the commands takes a moment, which an interrupt must not turn into a traceback

from normbench_cli.cli.main import main  # noqa: E402

if __name__ == "__main__":
    main()
