"""``python -m normbench_cli`` is ``normbench``."""

from normbench_cli.cli.main import main

if __name__ == "__main__":
    main()
