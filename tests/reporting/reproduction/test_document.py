"""The verdict on a suite from recorded runs: what is measured, what is published, and what is missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from normbench_cli import suites
from normbench_cli.reporting import files
from normbench_cli.reporting.document import Document, Table
from normbench_cli.reporting.reproduction.cells import measure_cells
from normbench_cli.reporting.reproduction.document import OTHER_NETWORK, make_document, texts_of
from normbench_cli.store import Store
from normbench_cli.suites import Place, Scale, Suite
from normbench_cli.suites.scales import ScaleName

FULL = Scale("full")


def record(
    store: Store, suite: Suite, row: str, column: str, metrics: dict[str, float], seed: int = 0
) -> dict[Place, str]:
    """A run of a cell with these values, without training."""
    cell = next(cell for cell in suite.cells if (cell.row, cell.column) == (row, column))
    config = FULL.config(suite, cell, seed)
    run_id = store.begin(config.to_dict(), config.fingerprint(), {}, argv=[])
    store.record(run_id, metrics)
    store.end(run_id, "finished" if metrics else "diverged")
    return {Place(suite.name, row, column, seed): run_id}


def table_of(document: Document, number: int = 0) -> dict[tuple[str, str], dict[str, str]]:
    table = [block for block in document.blocks if isinstance(block, Table)][number]
    rows = [dict(zip(table.columns, (cell.text for cell in row), strict=True)) for row in table.rows]
    return {(row["row"], row["column"]): row for row in rows} if "row" in rows[0] else {("", ""): rows[0]}


@pytest.fixture
def popnorm() -> Suite:
    return suites.find("popnorm/table1")


def test_a_cell_over_seeds(popnorm: Suite) -> None:
    recorded: dict[Place, str] = {}
    with Store.open() as store:
        for seed, accuracy in enumerate((0.90, 0.92, 0.91)):
            recorded |= record(store, popnorm, "VGG16/Tanh", "CIFAR10/POP-Norm", {"test/accuracy": accuracy}, seed)
        recorded |= record(store, popnorm, "VGG16/Tanh", "CIFAR10/POP-Norm", {}, 3)
        missing = {Place(popnorm.name, "VGG16/Tanh", "CIFAR10/BatchNorm", 0): "no data"}
        document = make_document(store, [popnorm], FULL, recorded, missing)
    row = table_of(document)["VGG16/Tanh", "CIFAR10/POP-Norm"]
    assert (row["published"], row["ours"], row["difference"]) == ("90.63 ± 0.09", "91.00 ± 1.00", "0.37")
    assert row["in sd"] == "0.9"  # 0.37 by sqrt((2 * 1.00^2 + 9 * 0.09^2) / 11) = 0.434
    assert (row["n"], row["faithful"], row["remark"]) == ("3", "no: 3 of 10 seeds", "1 diverged")
    empty = table_of(document)["VGG16/Tanh", "CIFAR10/BatchNorm"]
    assert (empty["ours"], empty["remark"]) == ("-", "no data")
    claims = next(block for block in document.blocks if isinstance(block, Table) and block.title == "Claims")
    assert {row[2].text for row in claims.rows} == {"not enough evidence"}


@pytest.mark.parametrize(("name", "shown"), [("short", True), ("smoke", False)])
def test_a_stand_in_for_the_network_and_data_has_no_difference(popnorm: Suite, name: ScaleName, shown: bool) -> None:
    """At short it is the paper's network on a shorter schedule."""
    with Store.open() as store:
        recorded = record(store, popnorm, "VGG16/Tanh", "CIFAR10/POP-Norm", {"test/accuracy": 0.5})
        document = make_document(store, [popnorm], Scale(name), recorded, {})
    row = table_of(document)["VGG16/Tanh", "CIFAR10/POP-Norm"]
    assert (row["ours"], row["difference"] != "-") == ("50.00", shown)
    assert (OTHER_NETWORK in texts_of(document.blocks)) != shown


def test_a_cell_over_folds_is_faithful_with_one_seed() -> None:
    suite = suites.find("augnorm-graph/table2")
    values = {"validation/accuracy@best_per_fold": 0.9044, "validation/accuracy_sd0@best_per_fold": 0.0623}
    with Store.open() as store:
        recorded = record(store, suite, "GCN+AUGNORM1.5", "MUTAG", values, 9)
        row = table_of(make_document(store, [suite], FULL, recorded, {}))["GCN+AUGNORM1.5", "MUTAG"]
    assert (row["published"], row["ours"], row["in sd"]) == ("91.00 ± 7.06", "90.44 ± 6.23", "-0.1")
    assert (row["n"], row["faithful"], row["remark"]) == ("10", "yes", "")


def without_published(suite: Suite) -> Suite:
    return replace(suite, cells=[replace(cell, published=None) for cell in suite.cells])


@pytest.mark.parametrize("name", suites.names())
def test_removing_all_published_numbers_changes_no_measured_value(name: str) -> None:
    suite = suites.find(name)
    names = {name for cell in suite.cells for name in (cell.metric, cell.sd) if name}
    with Store.open() as store:
        first = suite.cells[0]
        metrics = {name: 0.5 + number / 1000 for number, name in enumerate(sorted(names))}
        (run_id,) = record(store, suite, first.row, first.column, metrics).values()
        recorded = {Place(suite.name, cell.row, cell.column, suite.seeds[0]): run_id for cell in suite.cells}
        ours = measure_cells(store, [suite], FULL, recorded)
        assert len(ours) == len(suite.cells)
        assert all(measured.mean is not None for measured in ours.values())
        assert measure_cells(store, [without_published(suite)], FULL, recorded) == ours
    assert without_published(suite).digest() == suite.digest()


def test_at_smoke_nothing_is_decided(popnorm: Suite) -> None:
    with Store.open() as store:
        document = make_document(store, [popnorm], Scale("smoke"), {}, {})
    claims = next(block for block in document.blocks if isinstance(block, Table) and block.title == "Claims")
    assert {row[2].text for row in claims.rows} == {"not enough evidence"}
    assert all(row[3].text.startswith("on stand-ins: ") for row in claims.rows)


@pytest.mark.parametrize("form", sorted(set(files.FORMATS) - {"parquet"}))
def test_the_verdict_renders_in_every_format(popnorm: Suite, form: str, tmp_path: Path) -> None:
    with Store.open() as store:
        recorded = record(store, popnorm, "VGG16/Tanh", "CIFAR10/POP-Norm", {"test/accuracy": 0.9})
        document = make_document(store, [popnorm], FULL, recorded, {}, details=True)
    (line,) = files.write_files(document, tmp_path / "out", [form])
    assert "90.63" in Path(line).read_text()
