"""The best settings of POP-Norm's study, which the suites popnorm-setting/*-best run on fresh seeds.

They are selected by the validation accuracy of the study's short runs with seed 0, separately for each network,
activation and norm.  "best choice" is the best row of the study.  "best combination" combines the best row of each
group of choices, where it is better than the base.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from normbench_cli import suites
from normbench_cli.registry.spec import join_spec, split_spec
from normbench_cli.store import Store
from normbench_cli.store.queries import metrics_frame, runs_frame
from tests.docs.study import NORMS, SHORT
from tests.docs.tables import records

NETWORKS = ("resnet20", "vgg16")
ACTS = ("Sigmoid", "Tanh")
BASE = "base"
SELECTED_BY = "validation/accuracy"
GROUPS = {  # how the rows of a group begin
    "initial weights": ("init", "xavier"),
    "weight decay": ("no decay",),
    "gamma and beta": ("gamma", "beta", "kappa"),
    "placement": ("before", "none before"),
    "running statistics": ("momentum",),
    "pixels": ("pixels", "exact"),
    "augmentation": ("flips", "no augmentation"),
    "shortcut": ("shortcut",),
}
SPECS = ("norm", "data", "model")  # settings that are specs; choices of their parameters combine
Settings = Mapping[str, Any]


def best_rows(store: Store, network: str) -> dict[str, Settings]:
    """The rows of the suite of a network's best settings, from the recorded runs of its study."""
    measured, rows = validation(store, network), dict[str, Settings]()
    for act in ACTS:
        for norm in NORMS:
            accuracy, choices = measured[act, norm], settings_of_rows(network, norm)
            best = max(accuracy, key=accuracy.__getitem__)
            rows[f"{act.lower()}, best choice: {norm}"] = {"act": act.lower(), **choices[best]}
            better = [row for row in best_of_groups(accuracy) if accuracy[row] > accuracy[BASE]]
            rows[f"{act.lower()}, best combination: {norm}"] = {
                "act": act.lower(),
                **combined([choices[row] for row in (BASE, *better)]),
            }
    return rows


def validation(store: Store, network: str) -> dict[tuple[str, str], dict[str, float]]:
    """By activation and norm, the validation accuracy of each choice."""
    runs = runs_frame(store)
    first = set(runs.loc[runs["seed"] == 0, "id"])
    metric = metrics_frame(store, sorted(first), [SELECTED_BY]).set_index("run_id")["value"]
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in records(SHORT):
        act, _, column = row["column"].partition("/")
        if row["suite"] == f"popnorm-setting/{network}" and column == "validation" and act in ACTS:
            choice, _, norm = row["row"].rpartition(": ")
            for run in first & set(row["runs"].split()):
                found.setdefault((act, norm), {})[choice] = metric[run]
    return found


def settings_of_rows(network: str, norm: str) -> dict[str, Settings]:
    """By choice, what it sets, without what all runs share."""
    cells = [cell for cell in suites.find(f"popnorm-setting/{network}").cells if cell.row.endswith(f": {norm}")]
    shared = next(cell.settings for cell in cells if cell.row == f"{BASE}: {norm}")
    return {
        cell.row.rpartition(": ")[0]: {
            name: value
            for name, value in cell.settings.items()
            if name != "act" and (name == "norm" or value != shared.get(name))
        }
        for cell in cells
    }


def best_of_groups(accuracy: Mapping[str, float]) -> list[str]:
    """The best row of each group that has one."""
    members = [[row for row in accuracy if row.startswith(starts)] for starts in GROUPS.values()]
    return [max(rows, key=accuracy.__getitem__) for rows in members if rows]


def combined(choices: list[Settings]) -> Settings:
    """All of the choices at once; parameters of one spec are joined."""
    found: dict[str, Any] = {}
    for choice in choices:
        for name, value in choice.items():
            found[name] = joined(found[name], value) if name in SPECS and name in found else value
    return found


def joined(first: str, second: str) -> str:
    (name, params), (_, others) = split_spec(first), split_spec(second)
    return join_spec(name, params | others)
