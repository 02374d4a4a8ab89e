"""The source of components from outside: which file it is, and its digest."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from normbench_cli.registry import ACTIVATIONS, NORMS, SCHEDULES
from normbench_cli.registry.source_digest import Source, reload_changed, source_of

SCHEDULE = "def {name}(progress: float, power: float = 1.0) -> float:\n    return {value}\n"


@pytest.mark.parametrize("spec", ["batchnorm", "torch.nn:BatchNorm2d"])
def test_the_components_of_normbench_and_torch_have_no_source_of_their_own(spec: str) -> None:
    assert source_of(NORMS.parse(spec).entry) is None
    assert source_of(ACTIVATIONS.parse("torch.nn:Mish").entry) is None


def test_the_source_is_the_file_that_defines_a_component(tmp_path: Path) -> None:
    package = tmp_path / "rates_of_mine"
    package.mkdir()
    (package / "__init__.py").write_text("from rates_of_mine.falling import falling\n")
    file = package / "falling.py"
    file.write_text(SCHEDULE.format(name="falling", value="1 - progress"))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    entry = SCHEDULES.parse("rates_of_mine:falling").entry
    assert source_of(entry) == Source("rates_of_mine.falling", str(file), digest)
    file.write_text(SCHEDULE.format(name="falling", value="(1 - progress) ** power"))
    assert source_of(entry) == Source("rates_of_mine.falling", str(file), digest)  # what was imported
    reload_changed()
    now = source_of(entry)
    assert now is not None
    assert now.digest == hashlib.sha256(file.read_bytes()).hexdigest()[:16] != digest
    assert SCHEDULES.build("rates_of_mine:falling:power=2")(0.5) == 0.25


def test_a_component_of_torch_under_a_name_of_ones_own_counts_by_the_file_that_names_it(tmp_path: Path) -> None:
    file = tmp_path / "acts_of_mine.py"
    file.write_text("from torch.nn import Mish as Mine\n")
    source = source_of(ACTIVATIONS.parse("acts_of_mine:Mine").entry)
    assert source is not None
    assert source.file == str(file)


def test_a_component_whose_definition_cannot_be_read_is_found_by_importing_it(tmp_path: Path) -> None:
    file = tmp_path / "made_rates.py"
    file.write_text(SCHEDULE.format(name="made", value="1.0") + "globals()['other'] = made\n")
    source = source_of(SCHEDULES.parse("made_rates:other").entry)
    assert source is not None
    assert (source.module, source.file) == ("made_rates", str(file))


def test_a_source_that_is_gone_stays_as_it_was_imported(tmp_path: Path) -> None:
    file = tmp_path / "gone_rates.py"
    file.write_text(SCHEDULE.format(name="rate", value="1.0"))
    entry = SCHEDULES.parse("gone_rates:rate").entry
    before = source_of(entry)
    file.unlink()
    reload_changed()
    assert source_of(entry) == before is not None
