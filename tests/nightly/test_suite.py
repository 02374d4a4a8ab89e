"""Suites of cells as files, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from normbench_cli.config import make_config
from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.nightly.cell import cell_from, cell_json
from normbench_cli.nightly.suite import NightlySuite, read_suite, suite_names

TRAIN = '[train.small]\nmodel = "mlp:width=8"\niterations = 2\n'


def read(folder: Path, text: str) -> NightlySuite:
    path = folder / "mine.toml"
    path.write_text(text)
    return read_suite(str(path))


@pytest.mark.parametrize("name", suite_names())
def test_a_built_in_suite_needs_no_download_and_has_fixed_seeds(name: str) -> None:
    for cell in read_suite(name).cells:
        config = make_config(cell.settings)
        assert config.data.startswith(("digits", "toy_graphs"))
        assert cell.settings["seed"] == config.seed


def test_the_canary_suite_trains_and_profiles_images_and_graphs() -> None:
    cells = read_suite("canary").cells
    configs = [make_config(cell.settings) for cell in cells]
    assert {cell.kind for cell in cells} == {"train", "profile"}
    assert {"batchnorm", "popnorm", "augnorm", "diffphi"} <= {config.norm for config in configs}
    assert {"mlp:width=64", "resnet20", "gcn"} <= {config.model for config in configs}
    assert any(cell.shapes for cell in cells)
    assert any(cell.kind == "profile" and not cell.shapes for cell in cells)


def test_norms_make_a_cell_each_and_settings_are_shared(tmp_path: Path) -> None:
    suite = read(tmp_path, f'[settings]\nseed = 3\n{TRAIN}norms = ["popnorm", "batchnorm"]\n')
    assert suite.name == "mine"
    assert [cell.name for cell in suite.cells] == ["small/popnorm", "small/batchnorm"]
    assert suite.cells[0].settings == {"seed": 3, "model": "mlp:width=8", "iterations": 2, "norm": "popnorm"}
    assert suite.cell("small/popnorm") is suite.cells[0]


def test_a_cell_stays_the_same_through_json() -> None:
    for cell in read_suite("canary").cells:
        assert cell_from(cell_json(cell)) == cell


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no cells"),
        ("[train", "is not TOML"),
        ("[trian.a]\n", "there is no 'trian'; did you mean 'train'?"),
        ("[train.a]\nepoch = 2\n", "train.a: there is no 'epoch'; did you mean 'epochs'?"),
        ("[train.a]\nshapes = ['2x3']\n", "train.a: there is no 'shapes'"),
        ("[settings]\nnrom = 'popnorm'\n" + TRAIN, "settings: there is no 'nrom'; did you mean 'norm'?"),
        ("[train.a]\nnorm = 'popnrom'\n", "did you mean 'popnorm'?"),
        ("[train.a]\nnorms = 'popnorm'\n", "norms is 'popnorm'"),
        ("[train.a]\nnorms = ['none']\nnorm = 'none'\n", "has norm and norms"),
        ("[train.a]\nnorms = ['none', 'none']\n", "two cells are called 'a/none'"),
        ("[train.a]\nnorms = ['bn']\n[profile.a]\nnorms = ['bn']\n", "two cells are called 'a/bn'"),
        ("[train.' a']\n", "is not a name"),
        ("[train]\na = 3\n", "'train.a' is not a table"),
        ("[profile.a]\nshapes = ['2y3']\n", "'2y3' is not a shape"),
        ("[profile.a]\nshapes = ['0x3']\n", "0x3 has 0 numbers"),
        ("[profile.a]\nshapes = ['99999x99999']\n", "99999x99999 has 9,999,800,001 numbers"),
        ("[profile.a]\nshapes = ['8x8']\nnorm = 'weightnorm'\n", "acts on weights"),
        ("[profile.a]\nrounds = 2\n", "rounds is 2; write a whole number from 5"),
        ("remeasurements = true\n" + TRAIN, "remeasurements is True"),
        ("[minimum_effects]\ntimes = 0.1\n" + TRAIN, "there is no 'times'; did you mean 'time'?"),
        ("[minimum_effects]\ntime = 7\n" + TRAIN, "time is 7; write a fraction such as 0.05"),
        ("[train.a]\nnorm = 'os:path'\n", "if you trust that package: --allow os"),
    ],
)
def test_what_is_wrong_with_a_suite_is_one_line_that_names_the_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(NormbenchError) as error:
        read(tmp_path, text)
    assert message in str(error.value)
    assert "mine.toml" in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_suite_is_answered_with_the_nearest_and_with_all() -> None:
    with pytest.raises(UsageError, match="no nightly suite 'canray'; did you mean 'canary'"):
        read_suite("canray")


def test_an_unknown_cell_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'mlp/popnorm'"):
        read_suite("canary").cell("mlp/popnrom")
