"""The papers' suites: every published number in exactly one cell, and every cell a configuration at every scale."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from normbench_cli import suites
from normbench_cli.config import RunConfig
from normbench_cli.errors import UsageError
from normbench_cli.registry import ATTACKS
from normbench_cli.store.metric_names import parse_metric
from normbench_cli.suites.scales import SCALES, Scale, deviations, paper_config

with (Path(__file__).parent / "published.csv").open(newline="") as file:
    PRINTED = list(csv.DictReader(file))
PLACES = {"T": "table", "F": "figure"}
Row = tuple[str, ...]


def number(text: str) -> str:
    return str(float(text)) if text else ""


def printed_rows() -> Counter[Row]:
    """The papers' tables as they were typed off, a tuple a cell; what they state in the text is a claim."""
    return Counter(
        (
            f"{row['paper']}/{PLACES[row['table'][0]]}{row['table'][1:]}",
            *(row[name] for name in ("row", "column", "metric")),
            number(row["value"]),
            number(row["std"]),
            row["unit"],
            row["note"],
        )
        for row in PRINTED
        if row["table"] != "text"
    )


def suite_rows() -> Counter[Row]:
    return Counter(
        (
            suite.name,
            cell.row,
            cell.column,
            cell.published.metric,
            number(str(cell.published.value or "")),
            number(str(cell.published.sd or "")),
            cell.published.unit,
            cell.published.note,
        )
        for suite in suites.select(["all"])
        for cell in suite.cells
        if cell.published
    )


def test_every_published_cell_is_in_exactly_one_suite() -> None:
    assert len(PRINTED) == 223
    assert suite_rows() == printed_rows()


@pytest.mark.parametrize("name", suites.names())
def test_every_cell_is_a_configuration_at_every_scale(name: str) -> None:
    suite = suites.find(name)
    for cell in suite.cells:
        paper = paper_config(cell, suite.seeds[0])
        for scale in map(Scale, SCALES):
            config = scale.config(suite, cell, scale.seeds_of(suite)[0])
            assert (config.norm, config.act, config.objective) == (paper.norm, paper.act, paper.objective)
            assert (scale.name == "full") == (config == paper) or cell.is_of_data or scale.fraction == 1
            condition = parse_metric(cell.metric).condition
            if condition.partition(":")[0] in ATTACKS.entries:
                assert ATTACKS.canonical(condition) == condition


@pytest.mark.parametrize("name", suites.names())
def test_a_suite_states_its_precision(name: str) -> None:
    """With amp=auto a fingerprint would depend on the device, and torch would be loaded to ask for it."""
    suite = suites.find(name)
    assert "auto" not in {paper_config(cell, 0).amp for cell in suite.cells if not cell.is_of_data}


def test_full_is_the_papers_protocol() -> None:
    suite = suites.find("popnorm/table1")
    (cell,) = [c for c in suite.cells if (c.row, c.column) == ("ResNet20/Sigmoid", "CIFAR100/POP-Norm")]
    config = Scale("full").config(suite, cell, 3)
    assert (config.model, config.act, config.data, config.norm) == ("resnet20", "sigmoid", "cifar100", "popnorm")
    assert (config.iterations, config.batch_size, config.lr, config.weight_decay) == (30_000, 128, 0.1, 5e-4)
    assert list(Scale("full").seeds_of(suite)) == list(range(10))


def test_short_shortens_the_schedule_and_smoke_needs_no_download() -> None:
    suite = suites.find("augnorm-graph/table2")
    cell = suite.cells[-1]
    short, smoke = (Scale(name, 0.05).config(suite, cell, 9) for name in ("short", "smoke"))
    assert (short.epochs, short.folds, short.data) == (20, 10, "proteins")
    assert (smoke.epochs, smoke.folds, smoke.data) == (2, 2, "toy_graphs:draw=2")
    assert deviations(short, paper_config(cell, 9)) == ["epochs"]
    assert deviations(smoke, paper_config(cell, 9)) == ["data", "epochs", "folds"]


def test_every_stand_in_is_embedded() -> None:
    embedded = {"digits", "shifted_digits", "toy_graphs"}
    used: set[RunConfig] = set()
    for suite in suites.select(["all"]):
        used |= {Scale("smoke").config(suite, cell, 0) for cell in suite.cells}
    assert {config.data.partition(":")[0] for config in used} == embedded
    assert {config.model.partition(":")[0] for config in used} == {"mlp", "resnet20", "gcn"}


def test_all_and_a_paper_name_several_suites() -> None:
    assert [suite.name for suite in suites.select(["popnorm", "popnorm/table1"])] == [
        "popnorm/figure2",
        "popnorm/figure3",
        "popnorm/table1",
        "popnorm/table2",
    ]


def test_a_study_is_run_only_if_it_is_named() -> None:
    assert not [suite for suite in suites.select(["all"]) if suite.name.startswith(("popnorm-setting", "questions"))]
    assert [suite.name for suite in suites.select(["popnorm-setting"])] == [
        "popnorm-setting/resnet20",
        "popnorm-setting/resnet20-best",
        "popnorm-setting/resnet20-weights",
        "popnorm-setting/vgg16",
        "popnorm-setting/vgg16-best",
    ]


def test_an_unknown_suite_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no suite 'popnorm/tabel1'; did you mean 'popnorm/table1'"):
        suites.find("popnorm/tabel1")
