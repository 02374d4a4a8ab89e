"""The tables and figures of the papers as data: settings, grid and published numbers, one TOML file each.

A suite's rows and columns are labels with settings.  A cell is a row and a column; its runs are found by the
fingerprints of its settings, so published numbers have no part in any measurement.

    <paper>/<table>.toml   the suites; scales.toml has what stands in for data and networks at scale `smoke`
    <paper>/claims.toml    what the papers state with a number or an order, and the test that decides it
    suite.py               Suite, Cell, Published
    read.py                a file -> a checked suite; checks.py has the checks
    claims.py              a file -> claims
    scales.py              a cell's configuration at the scales smoke, short and full
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import suggest
from normbench_cli.suites.claims import Claim, read_claims
from normbench_cli.suites.read import read_suite
from normbench_cli.suites.scales import SCALES, Scale, scale_name
from normbench_cli.suites.suite import Cell, Place, Published, Suite

__all__ = [
    "SCALES",
    "Cell",
    "Claim",
    "Place",
    "Published",
    "Scale",
    "Suite",
    "claims",
    "find",
    "names",
    "scale_name",
    "select",
]

FOLDER = Path(__file__).parent


@cache
def names() -> list[str]:
    """`augnorm-graph/table1` and so on."""
    paths = (path for path in FOLDER.glob("*/*.toml") if path.stem != "claims")
    return sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in paths)


def find(name: str) -> Suite:
    """A suite of the papers by its name, or a user's own by its path."""
    if name in names():
        return read_suite(FOLDER / f"{name}.toml", name)
    if name.endswith(".toml"):
        return read_suite(Path(name), Path(name).stem)
    raise UsageError(f"there is no suite '{name}'", suggest(name, ["all", *names()]) + ", or give the path of a .toml")


def select(texts: list[str]) -> list[Suite]:
    """The suites of some names; `all` is every one, and `popnorm` all of that paper."""
    found: list[str] = []
    for text in texts:
        of_paper = [name for name in names() if name.startswith(f"{text}/")]
        found += names() if text == "all" else of_paper or [text]
    return [find(name) for name in dict.fromkeys(found)]


@cache
def claims() -> list[Claim]:
    """What the papers state with a number or an order."""
    return [claim for path in sorted(FOLDER.glob("*/claims.toml")) for claim in read_claims(path)]
