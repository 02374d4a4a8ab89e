"""A suite's file: what it may say, and one line for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from normbench_cli import suites
from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.registry.trust import NotAllowed
from normbench_cli.suites.scales import Scale

WHOLE = """
title = "Three norms"
metric = "test/accuracy"
unit = "%"
n = 3
seeds = "0-2"
note = "by hand"

[settings]
data = "digits:size=8"
model = "mlp"

[rows]
BN = { norm = "batchnorm" }
POP = { norm = "popnorm" }

[columns]
ReLU = { act = "relu" }
loss = { metric = "test/loss", unit = "" }

[published.BN]
ReLU = { value = 97.0, sd = 0.2, marks = ["odd", "wrong_row"] }

[published.POP]
ReLU = 98.0
loss = { norm = "popnorm:kappa=1" }

[marks.odd]
kind = "suspect"
note = "looks odd"

[marks.wrong_row]
kind = "misaligned"

[scales.short]
seeds = "7"
batch_size = 32
"""


def suite_of(tmp_path: Path, text: str) -> suites.Suite:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return suites.find(str(path))


def test_cells_take_from_suite_row_column_and_themselves(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, WHOLE)
    first, second, third = suite.cells  # BN has no loss: its row is listed without it
    assert (first.row, first.column, first.metric) == ("BN", "ReLU", "test/accuracy")
    assert first.settings == {"data": "digits:size=8", "model": "mlp", "norm": "batchnorm", "act": "relu"}
    assert first.published == suites.Published(97.0, 0.2, "", "%", 3, "misaligned", "by hand; looks odd")
    assert second.published == suites.Published(98.0, None, "", "%", 3, "", "by hand")
    assert (third.metric, third.settings["norm"]) == ("test/loss", "popnorm:kappa=1")


def test_a_scale_may_have_settings_and_seeds_of_its_own(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, WHOLE)
    assert list(Scale("short").seeds_of(suite)) == [7]
    assert Scale("short", 0.5).config(suite, suite.cells[0], 7).batch_size == 32
    assert list(Scale("short", seeds=(1, 2)).seeds_of(suite)) == [1, 2]


def test_a_length_in_epochs_replaces_one_in_iterations(tmp_path: Path) -> None:
    suite = suite_of(tmp_path, WHOLE.replace('model = "mlp"', 'model = "mlp"\nepochs = 9') + "iterations = 5\n")
    assert Scale("full").config(suite, suite.cells[0], 0).epochs == 9
    config = Scale("short").config(suite, suite.cells[0], 0)
    assert (config.epochs, config.iterations) == (None, 5)


def test_the_digest_knows_nothing_of_published_numbers(tmp_path: Path) -> None:
    digest = suite_of(tmp_path, WHOLE).digest()
    assert suite_of(tmp_path, WHOLE.replace("97.0", "12.0")).digest() == digest
    assert suite_of(tmp_path, WHOLE.replace('"popnorm"', '"none"')).digest() != digest


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title", "titel", "mine.toml: there is no 'titel'; did you mean 'title'"),
        ("[settings]", "[setting]", "there is no 'setting'; did you mean 'settings'"),
        ("model =", "modle =", r"mine.toml: settings: there is no 'modle'; did you mean 'model'"),
        ('{ norm = "batchnorm" }', '{ nrom = "batchnorm" }', r"rows\.BN: there is no 'nrom'; did you mean 'norm'"),
        ('{ norm = "batchnorm" }', '"batchnorm"', r"rows\.BN is 'batchnorm'; write"),
        ('"batchnorm"', '"batchnrom"', "the cell of BN and ReLU: .*did you mean 'batchnorm'"),
        ("[published.BN]", "[published.BNN]", "published: there is no 'BNN'; did you mean 'BN'"),
        ("ReLU = 98.0", "RelU = 98.0", r"published\.POP: there is no 'RelU'; did you mean 'ReLU'"),
        ("ReLU = 98.0", 'ReLU = "98.0"', r"published\.POP\.ReLU is '98.0'; write a number"),
        ("sd = 0.2", "std = 0.2", r"published\.BN\.ReLU: there is no 'std'"),
        ('"odd", ', '"od", ', "marks: there is no 'od'; did you mean 'odd'"),
        ('"misaligned"', '"misalined"', "the kind 'misalined'; did you mean 'misaligned'"),
        ("[scales.short]", "[scales.shrot]", "scales: there is no 'shrot'; did you mean 'short'"),
        ('metric = "test/accuracy"', "", "the cell of BN and ReLU has no metric; write"),
        ('[columns]\nReLU = { act = "relu" }\nloss = { metric = "test/loss", unit = "" }', "", "has no columns"),
        ('title = "Three norms"', 'title = "', r"mine.toml is not TOML: .*line 2"),
        ("n = 3", "n = " + "[" * 100_000, "mine.toml is not TOML: "),
        ("n = 3", 'n = 3\nover = "fold"', "write over = 'seeds' or over = 'folds'"),
        ('seeds = "0-2"', 'seeds = "2-0"', "end before they begin"),
        ("[settings]", "[[settings]]", r"'settings' is not a table; write \[settings\]"),
        ('note = "by hand"', "note = 3", r"mine.toml: note is 3; write text"),
        ('note = "by hand"', 'notes = "by hand"', r"notes is 'by hand'; write a list of texts"),
        ('"batchnorm"', "7", r"rows\.BN: norm is 7; write text"),
        ("sd = 0.2", 'sd = "0.2"', r"sd is '0.2'; write a number"),
        ("[marks.wrong_row]\nkind = ", "[marks]\nwrong_row = ", r"'marks.wrong_row' is not a table|not TOML"),
        ("[scales.short]", "[scales]\nshort = 3\n[scales.smoke]", r"'scales.short' is not a table"),
    ],
    ids=range(26),
)
def test_a_mistake_is_one_line_that_names_file_key_and_the_nearest(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in WHOLE
    with pytest.raises(UsageError, match=message) as raised:
        suite_of(tmp_path, WHOLE.replace(old, new, 1))
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(NormbenchError, match=r"gone\.toml cannot be read: No such file"):
        suites.find("gone.toml")


def test_a_suite_loads_a_component_from_outside_only_if_its_package_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evilsuite.py").write_text("open('imported', 'w').close()\nfrom torch.nn import Identity as Thing\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    text = WHOLE.replace('"popnorm"', '"evilsuite:Thing"')
    with pytest.raises(NotAllowed, match=r"asks for the norm 'evilsuite:Thing'.*--allow evilsuite"):
        suite_of(tmp_path, text)
    assert not (tmp_path / "imported").exists()
