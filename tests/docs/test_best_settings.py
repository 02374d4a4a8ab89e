"""The suites of best settings hold what the kept runs of the study select."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from normbench_cli import suites
from normbench_cli.store import Store
from normbench_cli.store.merge import merge
from tests.docs.best_settings import NETWORKS, Settings, best_of_groups, best_rows, combined
from tests.docs.study import FOLDER


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path = tmp_path_factory.mktemp("kept") / "kept.db"
    with Store.open(str(path)) as store:
        merge(store, [str(FOLDER / "runs")])
        yield store


@pytest.mark.parametrize("network", NETWORKS)
def test_a_suite_runs_the_best_settings_of_the_study_on_other_seeds(network: str, kept: Store) -> None:
    best = suites.find(f"popnorm-setting/{network}-best")
    shared = suites.find(f"popnorm-setting/{network}").cells[0].settings
    rows = best_rows(kept, network)
    assert best.rows == list(rows)
    for cell in best.cells:
        assert cell.settings == {**shared, **rows[cell.row]}
    assert 0 not in best.seeds


def test_a_combination_has_the_best_row_of_every_group_and_joins_specs() -> None:
    accuracy = {"base": 0.5, "init lsuv": 0.6, "xavier x 2": 0.7, "momentum 0.01": 0.4, "kappa in gamma": 0.6}
    assert best_of_groups(accuracy) == ["xavier x 2", "kappa in gamma", "momentum 0.01"]
    choices: list[Settings] = [
        {"norm": "popnorm"},
        {"norm": "popnorm:kappa=1", "gamma_init": 0.25},
        {"norm": "popnorm:first=false", "data": "cifar10:augment=none"},
        {"norm": "popnorm", "data": "cifar10:normalize=none"},
    ]
    assert combined(choices) == {
        "norm": "popnorm:kappa=1,first=false",
        "gamma_init": 0.25,
        "data": "cifar10:augment=none,normalize=none",
    }
