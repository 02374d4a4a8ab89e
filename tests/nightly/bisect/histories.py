"""Small git histories of a package with a norm, for the tests of `nightly bisect`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

NORM = '''
"""A layer of somebody's package."""

from torch import Tensor, nn

TIMES = {times}


class Theirs(nn.Module):
    """The identity, reached by so many multiplications."""

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.factor = 1.0

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(TIMES):
            x = x * self.factor
        return x
'''
BROKEN = "import a_module_that_nobody_has\n"
SUITE = """
[settings]
device = "cpu"
compile = false

[profile.layer]
norms = ["theirs.norm:Theirs"]
shapes = ["32x16x16x16"]
rounds = 5
"""
CELL = "layer/theirs.norm:Theirs"
MEASUREMENT = f"{CELL} time_vs_batchnorm@32x16x16x16"


class History:
    """A repository in a new folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=A. Author", "-c", "user.email=author@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *who, *words], cwd=self.folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, subject: str, content: str) -> str:
        """Commit a new content of the norm's file; the hash."""
        package = self.folder / "theirs"
        package.mkdir(exist_ok=True)
        (package / "__init__.py").touch()
        (package / "norm.py").write_text(f"# {subject}\n{content}")
        self.git("add", "theirs")
        self.git("commit", "--quiet", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def state(self) -> dict[str, str]:
        """All that a bisection must leave as it is: the files and those of git itself."""
        return {
            str(path): path.read_bytes().hex() if path.is_file() else ""
            for path in sorted(self.folder.rglob("*"))
            if "__pycache__" not in path.parts
        }


def make_history(folder: Path, content: Callable[[int], str]) -> tuple[History, list[str]]:
    """Twelve commits after the first one, the third to fifth on a branch that is merged.  content: by their numbers."""
    made = History(folder)
    hashes = [made.commit("commit 0", content(0))]
    for number in range(1, 13):
        if number == 3:
            made.git("checkout", "--quiet", "-b", "side")
        hashes.append(made.commit(f"commit {number}", content(number)))
        if number == 5:
            made.git("checkout", "--quiet", "main")
            made.git("merge", "--quiet", "--no-ff", "-m", "merge side", "side")
    return made, hashes
