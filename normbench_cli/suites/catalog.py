"""The available suites and claims."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from normbench_cli.axes.experiment_file import is_experiment
from normbench_cli.errors import UsageError
from normbench_cli.paths import expanded
from normbench_cli.registry.spec import suggest
from normbench_cli.suites.of_experiment import read_as_suite
from normbench_cli.suites.read import read_suite, read_toml
from normbench_cli.suites.read_claims import Claim, read_claims
from normbench_cli.suites.suite import Suite

FOLDER = Path(__file__).parent
STUDIES = ("popnorm-setting", "questions")  # of questions that papers leave open: not their tables, run only if named


@cache
def names() -> list[str]:
    """`augnorm-graph/table1` and so on."""
    paths = (path for path in FOLDER.glob("*/*.toml") if path.stem != "claims")
    return sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in paths)


def find(name: str) -> Suite:
    """A suite of the papers by its name, or a user's own suite or experiment file by its path."""
    if name in names():
        return read_suite(FOLDER / f"{name}.toml", name)
    if name.endswith(".toml"):
        path = expanded(name)
        return read_as_suite(path) if is_experiment(read_toml(path)) else read_suite(path, path.stem)
    raise UsageError(f"there is no suite '{name}'", suggest(name, ["all", *names()]) + ", or give the path of a .toml")


def select(texts: list[str]) -> list[Suite]:
    """The suites with these names; `all` is every table and figure of the papers, and `popnorm` all of that paper."""
    found: list[str] = []
    for text in texts:
        of_paper = [name for name in names() if name.startswith(f"{text}/")]
        of_papers = [name for name in names() if not name.startswith(STUDIES)]
        found += of_papers if text == "all" else of_paper or [text]
    return [find(name) for name in dict.fromkeys(found)]


@cache
def claims() -> list[Claim]:
    """The claims of the papers with a number or an order."""
    return [claim for path in sorted(FOLDER.glob("*/claims.toml")) for claim in read_claims(path)]
