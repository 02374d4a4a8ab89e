"""The facts of a data set that tables print."""

from __future__ import annotations

from normbench_cli.build import load_data
from normbench_cli.experiments.data_facts import data_facts


def test_graphs() -> None:
    facts = data_facts(load_data("toy_graphs:graphs=10"))
    assert (facts["data/graphs"], facts["data/classes"]) == (10, 2)
    assert 5 <= facts["data/mean_nodes"] <= 12


def test_images_with_groups() -> None:
    facts = data_facts(load_data("shifted_digits:size=8"))
    groups = {name: value for name, value in facts.items() if "@" in name}
    assert facts["data/train_images"] == sum(groups.values()) == 750
    assert (facts["data/test_images"], facts["data/classes"]) == (720, 2)
    assert (len(groups), groups["data/train_images@high_red"]) == (4, 8)
