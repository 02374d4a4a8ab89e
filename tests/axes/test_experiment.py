"""An experiment's cells: which ones, in which order; zipped axes; settings overridden."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from normbench_cli.axes.experiment import make_experiment
from normbench_cli.errors import UsageError

SMALL = {"data": "digits:size=8", "model": "mlp"}


def cells(given: dict[str, Any], *names: str, zipped: Any = ()) -> list[tuple[Any, ...]]:
    return [tuple(cell[name] for name in names) for cell in make_experiment(given, zipped).cells()]


def test_the_order_of_cells_is_that_of_the_settings_and_the_seed_varies_fastest() -> None:
    given = {"seeds": "0-1", "lr": "0.1,0.2", "act": "relu,tanh", "batch_size": [8, 16], "norm": "bn,none"}
    names = ("norm", "act", "batch_size", "lr", "seed")
    assert cells(given, *names) == list(product(["bn", "none"], ["relu", "tanh"], [8, 16], [0.1, 0.2], [0, 1]))
    assert make_experiment(given).axes == names
    assert cells(dict(reversed(given.items())), *names) == cells(given, *names)


@pytest.mark.parametrize("zipped", ["lr,batch-size", ["lr,batch_size"], [["batch_size", "lr"]]])
def test_zipped_axes_advance_together_beside_crossed_ones(zipped: Any) -> None:
    given = {"norm": "bn,none", "lr": "0.1,0.2,0.4", "batch_size": "log:16..64/3"}
    pairs = [(16, 0.1), (32, 0.2), (64, 0.4)]
    assert cells(given, "norm", "batch_size", "lr", zipped=zipped) == [
        (norm, *pair) for norm in ("bn", "none") for pair in pairs
    ]


def test_two_zips_are_crossed_and_a_seed_can_be_zipped() -> None:
    given = {"lr": [1, 2], "batch_size": [8, 16], "act": "relu,tanh", "seeds": "0-1"}
    found = cells(given, "act", "seed", "batch_size", "lr", zipped=[["lr", "batch_size"], "seeds,act"])
    assert found == [("relu", 0, 8, 1), ("relu", 0, 16, 2), ("tanh", 1, 8, 1), ("tanh", 1, 16, 2)]


@pytest.mark.parametrize(
    ("zipped", "says"),
    [
        ("lr,batch_size", "zipped axes differ in length: lr has 3, batch_size has 2; give each the same number of"),
        ("lr,momentum", "zip names momentum, which has no values; give momentum several values"),
        ("lr,lrr", "there is no setting 'lrr'; did you mean 'lr'"),
        ("lr", "zip names lr alone; name two settings or more: lr,batch_size"),
        (["lr", "batch_size"], "zip names lr alone"),
        (["lr,batch_size", "lr,norm"], "zip names lr twice; name it once"),
        (3, "zip is 3; write zip = "),
        ([3], "zip is "),
    ],
)
def test_a_zip_that_cannot_be_is_one_line(zipped: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        cells({"lr": "0.1,0.2,0.3", "batch_size": "8,16", "norm": "bn"}, zipped=zipped)


def test_a_grid_that_nobody_can_train_is_refused_before_it_is_made() -> None:
    given = {"lr": "0.1..1/1000", "weight_decay": "0..1/1000"}
    with pytest.raises(UsageError, match="the grid has 1,000,000 cells; give at most 20,000"):
        make_experiment(given).cells()


def test_a_setting_under_two_names_is_refused() -> None:
    with pytest.raises(UsageError, match="seed is given twice, as 'seeds' too"):
        make_experiment({"seed": 1, "seeds": "0-3"})


def test_a_number_has_one_fingerprint_however_it_is_written() -> None:
    same = [make_experiment({**SMALL, "lr": lr, "epochs": 1}).configs()[0] for lr in (1, 1.0, "1", "1e0")]
    assert len({config.fingerprint() for config in same}) == 1


@pytest.mark.parametrize(
    ("by", "zipped", "left"),
    [
        ({"lr": 0.1}, (), (("norm", "act"),)),
        ({"lr": "0.1,0.2"}, (), (("lr", "batch_size"), ("norm", "act"))),
        ({"lr": "0.1,0.2"}, ["lr,seed"], (("lr", "seed"),)),
    ],
)
def test_what_overrides_an_axis_with_one_value_takes_it_out_of_its_zip(by: Any, zipped: Any, left: Any) -> None:
    given = {"lr": "1,2", "batch_size": "8,16", "norm": "bn,none", "act": "relu,tanh", "seeds": "0-1"}
    whole = make_experiment(given, ["lr,batch_size", "norm,act"])
    assert whole.overridden(make_experiment(by, zipped)).zipped == left


def test_a_length_overrides_the_other_one() -> None:
    whole = make_experiment({"iterations": 5, "norm": "bn"}).overridden(make_experiment({"epochs": 2}))
    assert dict(whole.written) == {"norm": ("bn",), "epochs": (2,)}
