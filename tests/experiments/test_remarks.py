"""What is perhaps not meant is said while training, and recorded with the run."""

from __future__ import annotations

from typing import Any

import pytest

import normbench_cli as nb
from normbench_cli.config import make_config
from normbench_cli.experiments.events import Notice
from normbench_cli.experiments.norm_layers import NormLayer, compact
from normbench_cli.experiments.remarks import chosen_groups, remark_on_divergence, remarks_before
from normbench_cli.store import Store

TINY: dict[str, Any] = {"model": "mlp", "data": "digits:size=8", "iterations": 3, "batch_size": 64}


@pytest.mark.parametrize("norm", ["ws", "ws+wn"])
def test_weight_standardization_alone_is_remarked(norm: str) -> None:
    (remark,) = remarks_before(make_config({"norm": norm}))
    assert remark.startswith("weightstandardization is made for operations that a norm follows, and none does")
    assert remark.endswith("join it with a norm, as in ws+gn")


@pytest.mark.parametrize("norm", ["ws+gn", "wn", "bn", "none", "popnorm"])
def test_what_is_usual_is_not_remarked(norm: str) -> None:
    assert list(remarks_before(make_config({"norm": norm}))) == []


@pytest.mark.parametrize(
    ("norm", "step", "says"),
    [
        ("bn", 1, "batchnorm diverged at step 1 at a learning rate of 0.5, in its first 10 steps; give a smaller --lr"),
        ("bn", 10, "such as 0.05"),
        ("bn", 11, None),
        ("wn", 500, "weightnorm normalizes weights only, which does not bound the outputs, and diverged at step 500"),
        ("ws+gn", 500, None),
    ],
)
def test_a_divergence_is_remarked_where_its_cause_is_likely(norm: str, step: int, says: str | None) -> None:
    remark = remark_on_divergence(make_config({"norm": norm, "lr": "0.5"}), step)
    assert (remark is None) == (says is None)
    assert says is None or says in str(remark)


def layer(name: str, **parameters: Any) -> NormLayer:
    return NormLayer(name, "groupnorm", "after", "op", parameters)


def test_groups_that_layers_choose_are_told_and_those_written_are_not() -> None:
    layers = [layer("a", groups=8), layer("b", groups=8), layer("c", groups=16)]
    (notice,) = chosen_groups(make_config({"norm": "gn"}), layers)
    assert notice == "groupnorm leaves the number of groups to its layers, which choose 8 in 2, 16 in 1 of 3 layers"
    assert not list(chosen_groups(make_config({"norm": "gn:groups=8"}), layers))
    assert not list(chosen_groups(make_config({"norm": "bn"}), [layer("a", eps=1)]))


def test_layers_that_are_alike_are_recorded_together() -> None:
    assert compact([layer("a", groups=8), layer("b", groups=16), layer("c", groups=8)]) == [
        {"norm": "groupnorm", "placement": "after", "parameters": {"groups": 8}, "layers": ["a", "c"]},
        {"norm": "groupnorm", "placement": "after", "parameters": {"groups": 16}, "layers": ["b"]},
    ]


@pytest.mark.usefixtures("home")
def test_norm_layers_and_remarks_are_recorded_and_told() -> None:
    told: list[str] = []

    def hear(event: Any) -> None:
        if isinstance(event, Notice):
            told.append(event.text)

    (run,) = nb.train(norm="ws", lr=1e30, on_event=hear, **TINY)
    assert run.status == "diverged"
    with Store.open(write=False) as store:
        details = store.find(run.id).details
    assert [(kind["norm"], len(kind["layers"])) for kind in details["norm_layers"]] == [("weightstandardization", 3)]
    assert [remark.split(" ")[0] for remark in details["remarks"]] == ["weightstandardization"] * 2
    assert "diverged at step 2" in details["remarks"][1]
    assert set(details["remarks"]) <= set(told)
