"""The README says what is: its tables come from the registries, its example of a new norm works, its commands exist."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.registry import ACTIVATIONS, DATASETS, MODELS, NORMS, OBJECTIVES, Registry
from tests.support import RunCommand

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def table(registry: Registry) -> str:
    """A registry as the README shows it."""
    rows = [f"| `{e.name}`{aliases(e.aliases)} | {e.summary} | {e.paper} |" for e in registry.entries.values()]
    return "\n".join(["| name | what | source |", "|---|---|---|", *rows])


def aliases(names: tuple[str, ...]) -> str:
    return f" ({', '.join(names)})" if names else ""


@pytest.mark.parametrize("registry", [NORMS, MODELS, DATASETS], ids=lambda registry: registry.kind)
def test_tables_are_those_of_the_registries(registry: Any) -> None:
    assert table(registry) in README, f"put this into the README:\n\n{table(registry)}"


@pytest.mark.parametrize("section", ["Run it", "Test it"])
def test_the_two_commands_are_the_only_blocks_of_their_sections(section: Any) -> None:
    body = README.split(f"\n## {section}\n")[1].split("\n## ")[0]
    assert len(re.findall(r"^```", body, re.M)) == 2
    assert "```bash\n" in body


def test_every_command_of_the_program_is_in_the_readme(normbench: RunCommand) -> None:
    commands = re.findall(r"^│? *([a-z]+) {2,}", normbench("--help").out, re.M)
    assert {"train", "report", "doctor"} <= set(commands)
    assert all(f"normbench {command}" in README for command in commands)


def test_activations_and_objectives_are_named() -> None:
    assert all(f"`{name}`" in README for name in [*ACTIVATIONS.entries, *OBJECTIVES.entries])


def test_the_example_of_a_new_norm_is_listed_trains_is_tested_and_reported(tmp_path: Path) -> None:
    """In a copy of the project, with the README's file added and nothing else touched."""
    example = README.split("## Add a norm in one file")[1].split("```python\n")[1].split("```")[0]
    name = re.search(r'register\("(\w+)"', example).group(1)
    assert len([line for line in example.splitlines() if line.strip()]) < 20
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    for part in ("normbench_cli", "migrations", "tests"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "normbench_cli" / "norms" / f"{name}.py").write_text(example)

    def run(*words: str) -> str:
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert name in run("-m", "normbench_cli", "list", "norms")
    tiny = ["--data", "digits:size=8", "--iterations", "2"]
    assert "finished" in run("-m", "normbench_cli", "train", "--norm", name, *tiny, "-q")
    assert name in run("-m", "normbench_cli", "report", "--by", "norm")
    assert "passed" in run("-m", "pytest", "tests/norms/test_every_norm.py", "-k", name, "-p", "no:cacheprovider")
