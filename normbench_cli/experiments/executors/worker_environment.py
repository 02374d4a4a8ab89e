"""What must be the same in every worker, on any machine: home, data, working folder, module path, the user's command.

The home folder, with the checkpoints, must be on a disk that all machines mount at the same path.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from normbench_cli import paths


@dataclass(frozen=True)
class WorkerEnvironment:
    """variables: of the environment.  path: Python's module search path.  argv: the command, recorded with runs."""

    variables: Mapping[str, str]
    folder: str
    path: tuple[str, ...]
    argv: tuple[str, ...]

    def enter(self) -> None:
        """Change this process permanently to match the launcher."""
        os.environ.update(self.variables)
        sys.argv = list(self.argv)
        sys.path += [place for place in self.path if place not in sys.path]
        with suppress(OSError):  # another machine need not have the folder
            os.chdir(self.folder)
        paths.set_compile_cache()


def current_worker_environment() -> WorkerEnvironment:
    """The environment of this process."""
    chosen = {name: value for name, value in os.environ.items() if name.startswith("NORMBENCH_")}
    chosen.pop("NORMBENCH_DB", None)  # may contain a password; the task names the database
    chosen |= {"NORMBENCH_HOME": str(paths.home().absolute()), "NORMBENCH_DATA": str(paths.data_root().absolute())}
    return WorkerEnvironment(chosen, str(Path.cwd()), tuple(sys.path), tuple(sys.argv))
