"""A cell's configuration at a scale: the paper's protocol, a shortened one, or a substitute that runs in seconds."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from normbench_cli.config import IDENTITY, REGISTRIES, RunConfig, make_config
from normbench_cli.errors import UsageError
from normbench_cli.registry import DATASETS, MODELS, Registry
from normbench_cli.registry.spec import suggest
from normbench_cli.registry.trust import recorded_in
from normbench_cli.seeds import parse_seeds
from normbench_cli.suites.suite import Cell, Suite

ScaleName = Literal["smoke", "short", "full"]
SCALES: tuple[ScaleName, ...] = get_args(ScaleName)
SHORT_SEEDS = 3
LENGTHS = {"iterations", "epochs"}  # the settings for the length of a schedule


class Length(NamedTuple):
    """The length of a schedule here and in the paper.  unit: of both; paper: None if the paper uses another unit."""

    here: int
    paper: int | None
    unit: str

    def __str__(self) -> str:
        """300 of 30000 iterations; 40 epochs (paper: 30)"""
        if self.paper is None or self.paper == self.here:
            return f"{self.here} {self.unit}"
        if self.here > self.paper:
            return f"{self.here} {self.unit} (paper: {self.paper})"
        return f"{self.here} of {self.paper} {self.unit}"

    @property
    def fraction(self) -> float | None:
        return None if self.paper is None else self.here / self.paper


@dataclass(frozen=True)
class Scale:
    """fraction: of the paper's schedule, for `short`.  seeds: override the suite's.  most_seeds: of the suite's own,
    for `short`.  settings: override those of every cell."""

    name: ScaleName = "full"
    fraction: float = 1.0
    seeds: tuple[int, ...] = ()
    most_seeds: int = SHORT_SEEDS
    settings: tuple[tuple[str, Any], ...] = ()

    def seeds_of(self, suite: Suite) -> Sequence[int]:
        own = suite.scales.get(self.name, {}).get("seeds")
        if self.seeds:
            return self.seeds
        if own is not None:
            return parse_seeds([str(own)])
        most = {"full": len(suite.seeds), "short": self.most_seeds, "smoke": 1}[self.name]
        return suite.seeds[:most]

    def config(self, suite: Suite, cell: Cell, seed: int) -> RunConfig:
        """The configuration of a cell's run."""
        paper, changes = paper_config(cell, seed), dict[str, Any]()
        if self.name == "short":
            changes = shortened(paper, self.fraction)
        if self.name == "smoke":
            changes = stand_ins(paper, kept=cell.settings.keys() & {"batch_size"})
        own = {key: value for key, value in suite.scales.get(self.name, {}).items() if key != "seeds"}
        settings = over(over(cell.settings, changes), own) | {"seed": seed} | dict(self.settings)
        return config_of(frozenset(settings.items()), f"suite {suite.name}")

    def is_fixed(self, suite: Suite) -> bool:
        """Whether the suite itself sets the length of its schedules at this scale."""
        return bool(LENGTHS & suite.scales.get(self.name, {}).keys())

    def lengths(self, suite: Suite) -> list[Length]:
        """The distinct lengths of the suite's schedules."""
        cells = (cell for cell in suite.cells if not cell.is_of_data)
        pairs = ((self.config(suite, cell, suite.seeds[0]), paper_config(cell, suite.seeds[0])) for cell in cells)
        return list(dict.fromkeys(length_of(ours, paper) for ours, paper in pairs))

    def metric(self, cell: Cell) -> str:
        """The metric of the cell: the paper's, or for `smoke` that of the group that replaces the paper's."""
        found: str = smoke()["metric"].get(cell.metric, cell.metric) if self.name == "smoke" else cell.metric
        return found


def scale_name(text: str) -> ScaleName:
    for name in SCALES:
        if text == name:
            return name
    raise UsageError(f"--scale {text} is not a scale", suggest(text, list(SCALES)))


def paper_config(cell: Cell, seed: int) -> RunConfig:
    """The configuration of a cell in the paper."""
    return config_of(frozenset({**cell.settings, "seed": seed}.items()), "the suite")


def config_of(settings: frozenset[tuple[str, Any]], source: str) -> RunConfig:
    """Cells that show different metrics of a run share one configuration, which is cached.  Trust in components from
    outside may change, so configurations with them are not cached."""
    given = dict(settings)
    from_outside = any(name in given and registry.outside(given[name]) for name, registry in REGISTRIES.items())
    return make_config(given, recorded_in(source)) if from_outside else known_config(settings, source)


@lru_cache(maxsize=4096)
def known_config(settings: frozenset[tuple[str, Any]], source: str) -> RunConfig:
    return make_config(dict(settings), recorded_in(source))


def length_of(ours: RunConfig, paper: RunConfig) -> Length:
    if ours.iterations is not None:
        return Length(ours.iterations, paper.iterations, "iterations")
    return Length(ours.epochs or 1, paper.epochs, "epochs")


def shortened(config: RunConfig, fraction: float) -> dict[str, int]:
    """The schedule's length times a fraction.  Schedules are functions of progress, so their shape stays."""
    if config.iterations is not None:
        return {"iterations": max(1, round(config.iterations * fraction))}
    return {"epochs": max(1, round((config.epochs or 1) * fraction))}


def stand_ins(config: RunConfig, kept: Collection[str] = ()) -> dict[str, Any]:
    """Substitutes for a paper's data set and network, and a schedule of few steps.

    kept: settings that stay as in the suite; a suite that names batch sizes compares them.
    """
    short = smoke()["graphs" if config.folds else "images"]
    found: dict[str, Any] = {name: value for name, value in short.items() if name not in kept}
    registries: dict[str, Registry[Any]] = {"data": DATASETS, "model": MODELS}
    for name, registry in registries.items():
        spec = getattr(config, name)
        found[name] = smoke()[name].get(registry.parse(spec).entry.name, spec)
    return {"recipe": config.recipe} | found


def over(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with changes; a length in epochs replaces one in iterations, and vice versa."""
    replaced = LENGTHS if LENGTHS & changes.keys() else set()
    return {name: value for name, value in settings.items() if name not in replaced} | dict(changes)


@cache
def smoke() -> Mapping[str, Mapping[str, Any]]:
    with (Path(__file__).parent / "scales.toml").open("rb") as file:
        content: Mapping[str, Mapping[str, Any]] = tomllib.load(file)["smoke"]
    return content


def deviations(config: RunConfig, paper: RunConfig) -> list[str]:
    """The settings that affect a result and differ from the paper's, except the seed."""
    return [name for name in IDENTITY if name != "seed" and getattr(config, name) != getattr(paper, name)]
