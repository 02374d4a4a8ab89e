"""README and pages are true: tables are generated, links and options exist, the example of a new norm works."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cogapp import Cog

from tests.support import CommandResult, RunCommand

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
GROUPS = {"db", "nightly", "runs"}  # commands with commands of their own
HELP: dict[tuple[str, ...], CommandResult] = {}  # of the commands that pages name, shown once
PAGES = [
    ROOT / "README.md",
    ROOT / ".github" / "CONTRIBUTING.md",
    ROOT / "reports" / "reproduction" / "README.md",
    *sorted((ROOT / "normbench_cli").rglob("*.md")),
]


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "reports/reproduction/README.md",
        *(
            f"normbench_cli/docs/{name}.md"
            for name in ("components", "initial-weights", "questions", "cost", "experiments")
        ),
    ],
)
def test_generated_tables_are_current(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert Cog().main(["cog", "--check", page]) == 0, "run .ci/docs"


def test_the_readme_is_a_manual_of_at_most_200_lines() -> None:
    assert len(README.splitlines()) <= 200


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text())
    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_in_the_pages_exist(page: Path, normbench: RunCommand) -> None:
    text = re.sub(r"\\\n\s*", " ", page.read_text())
    for command, rest in re.findall(r"^\$ normbench ([a-z]+)(.*)$", text, re.M):
        of_group = [word for word in rest.split()[:1] if command in GROUPS and word.isalpha()]
        named = (command, *of_group)
        shown = HELP[named] = HELP.get(named) or normbench(*named, "--help")
        assert shown.code == 0
        for option in re.findall(r"(--[a-z][a-z-]+)", rest):
            assert option in shown.out, f"{command} has no {option}"


@pytest.mark.parametrize("section", ["Run it", "Test it"])
def test_the_two_commands_are_the_only_blocks_of_their_sections(section: str) -> None:
    body = README.split(f"\n## {section}\n")[1].split("\n## ")[0]
    assert len(re.findall(r"^```", body, re.M)) == 2
    assert "```bash\n" in body


def test_every_command_of_the_program_is_in_the_readme(normbench: RunCommand) -> None:
    commands = re.findall(r"^│? *([a-z]+) {2,}", normbench("--help").out, re.M)
    assert {"train", "report", "doctor"} <= set(commands)
    assert all(f"normbench {command}" in README for command in commands)


@pytest.mark.slow
def test_the_example_of_a_new_norm_is_listed_trains_is_tested_and_reported(tmp_path: Path) -> None:
    """In a copy of the project, with the README's file added and nothing else touched."""
    example = README.split("## Add a norm in one file")[1].split("```python\n")[1].split("```")[0]
    (name,) = re.findall(r'register\("(\w+)"', example)
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
