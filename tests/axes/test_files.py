"""Files of experiments and recipes: read, checked, written again; errors name file, line, key and what to write."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from normbench_cli import recipes
from normbench_cli.axes.experiment import ORDER, Experiment, make_experiment
from normbench_cli.axes.experiment_file import read_experiment
from normbench_cli.axes.recipe_file import read_recipe
from normbench_cli.axes.saving import as_toml, save_experiment
from normbench_cli.config import GRID_FIELDS, make_config
from normbench_cli.errors import NormbenchError, UsageError

PAGE = recipes.FOLDER.parent / "docs" / "experiments.md"
HEAD = "# mine\n\nnorm = [\n  'bn',\n  'popnorm',\n]\n"  # six lines
RECIPE = """
summary = "mine"
[settings]
data = "digits:size=8"
model = "mlp:width=8"
iterations = 3
lr = 1
[[exceptions]]
norm = "popnorm"
lr = 0.2
[[exceptions]]
act = "sigmoid"
init_gain = 3
[[exceptions]]
norm = "popnorm"
act = "sigmoid"
lr = 0.1
"""


def read(text: str) -> Experiment:
    Path("mine.toml").write_text(text)
    return read_experiment("mine.toml")


def test_a_file_says_what_the_options_say() -> None:
    found = read("batch-size = [16, 32]\nlr = 'log:0.1..1/2'\nseeds = '0-1'\nnote = 'a, b'\nzip = 'lr,batch-size'\n")
    assert found.values == {"batch_size": [16, 32], "lr": [0.1, 1.0], "note": ["a, b"], "seed": [0, 1]}
    assert found.zipped == (("lr", "batch_size"),)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("lrr = 3", "mine.toml, line 7: there is no setting 'lrr'; did you mean 'lr'?"),
        ("lr = 'x'", "mine.toml, line 7: lr=x is not a number; write a number"),
        ("lr = [0.1, -1]", "mine.toml, line 7: lr is -1.0; give a number above 0"),
        ("lr = '0.1..1'", "mine.toml, line 7: lr=0.1..1 is not a range; write FIRST..LAST/COUNT"),
        ("lr = 2020-01-01", "mine.toml, line 7: lr is datetime.date(2020, 1, 1), not a number"),
        ("lr = []", "mine.toml, line 7: lr is empty"),
        ("act = ['relu', 'rleu']", "mine.toml, line 7: unknown activation 'rleu'; did you mean 'relu'?"),
        ("seed = 1\nseeds = 2", "mine.toml, line 8: seed is given twice, as 'seeds' too"),
        ("zip = [['norm', 'lr']]", "mine.toml, line 7: zip names lr, which has no values"),
        ("[lr]\nfirst = 1", "mine.toml, line 7: lr is {'first': 1}, not a number"),
        ("lr = ", "mine.toml is not TOML: "),
        ("x = " + "[" * 100_000, "mine.toml is not TOML: "),
        ("[rows]", "mine.toml is a suite; run it by `normbench reproduce mine.toml`"),
    ],
)
def test_an_error_names_file_line_and_key(line: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(HEAD + line)
    assert str(refused.value).startswith(says)


def test_a_file_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match=r"mine\.toml has no settings"):
        read("# nothing")
    with pytest.raises(UsageError, match=r"'popnorm' is not an experiment; give a \.toml file, or an option such as"):
        read_experiment("popnorm")
    with pytest.raises(NormbenchError, match=r"gone\.toml cannot be read: No such file"):
        read_experiment("gone.toml")


def test_a_file_loads_only_packages_that_the_user_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "of_a_stranger.py").write_text("print('ran')\nraise SystemExit\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        NormbenchError, match=r"mine\.toml asks for the norm 'of_a_stranger:Norm'.*--allow of_a_stranger"
    ):
        read("norm = 'of_a_stranger:Norm'")
    Path("recipe.toml").write_text("[settings]\nact = 'of_a_stranger:Act'\n")
    with pytest.raises(NormbenchError, match=r"recipe\.toml asks for the activation 'of_a_stranger:Act'"):
        make_experiment({"recipe": "recipe.toml"}).configs()
    (tmp_path / "of_a_friend.py").write_text("from torch import nn\n\n\nclass Act(nn.ReLU):\n    pass\n")
    Path("recipe.toml").write_text("[settings]\nact = 'of_a_friend:Act'\n")
    (config,) = make_experiment({"recipe": "recipe.toml"}).configs(allow="of_a_friend")
    assert config.act == "of_a_friend:Act"


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@settings(max_examples=30)
@given(
    lr=st.sampled_from(["0.1", "0.1,1e-5", "log:0.01..1/3", "0.1..0.3/3,1"]),
    batch_size=st.lists(st.integers(1, 1024), min_size=1, max_size=3),
    norm=st.sampled_from(["bn", "augnorm:phi=1.1..1.9/3,bn", "popnorm:kappa=4,remove=none"]),
    recipe=st.sampled_from(["digits", r"a\,b.toml,digits"]),
    seeds=st.sampled_from(["0-3", "7", "1,5-6", 3]),
    note=TEXTS,
    compiled=st.booleans(),
)
def test_what_is_saved_is_read_again_as_the_same_experiment(compiled: bool, **given: object) -> None:
    experiment = make_experiment({**given, "compile": compiled})
    Path("saved.toml").write_text(as_toml(experiment, "saved.toml"), encoding="utf-8")
    assert read_experiment("saved.toml").values == experiment.values


def test_a_file_is_written_once_and_keeps_ranges_and_zips() -> None:
    given = {"lr": "log:0.01..1/3", "init": "xavier,kaiming,torch", "batch_size": "64"}
    experiment = make_experiment(given, "lr,init")
    path = save_experiment(experiment, "new.toml")
    assert path.read_text().splitlines() == [
        "# normbench train new.toml",
        "batch_size = 64",
        'lr = "log:0.01..1/3"',
        'init = ["xavier", "kaiming", "torch"]',
        'zip = [["lr", "init"]]',
    ]
    assert read_experiment(path).cells() == experiment.cells()
    for target, says in (("new.toml", "exists"), ("new.txt", "not a .toml"), ("no/new.toml", "cannot be written")):
        with pytest.raises(NormbenchError, match=says):
            save_experiment(experiment, target)


def test_a_recipe_of_ones_own_gives_way_to_settings_and_has_exceptions() -> None:
    Path("mine.toml").write_text(RECIPE)
    bn, popnorm = make_experiment({"recipe": "./mine.toml", "norm": "bn,popnorm", "epochs": 2}).configs()
    assert (bn.lr, popnorm.lr, bn.epochs, bn.iterations, bn.model) == (1.0, 0.2, 2, None, "mlp:width=8")
    by_act = make_experiment({"recipe": "./mine.toml", "norm": "bn,popnorm", "act": "relu,sigmoid"}).configs()
    assert {(one.act, one.norm): (one.lr, one.init_gain) for one in by_act} == {
        ("relu", "batchnorm"): (1.0, 1.0),
        ("relu", "popnorm"): (0.2, 1.0),
        ("sigmoid", "batchnorm"): (1.0, 3.0),
        ("sigmoid", "popnorm"): (0.1, 3.0),
    }
    assert bn.fingerprint() == make_config(
        {"data": "digits:size=8", "model": "mlp:width=8", "norm": "bn", "epochs": "2", "lr": "1", "recipe": "digits"}
        | {"batch_size": "128", "weight_decay": "5e-4"}
    ).fingerprint()  # fmt: skip
    Path("mine.toml").unlink()
    assert make_config(bn.to_dict()) == bn  # as it is recorded, the file is not needed


def test_the_files_of_the_page_are_read_and_its_order_is_the_one_of_the_cells() -> None:
    page = PAGE.read_text()
    experiment, recipe = re.findall(r"```toml\n(.*?)```", page, re.S)
    assert len(read(experiment).cells()) == 5 * 5 * 3
    Path("mine.toml").write_text(recipe)
    assert make_experiment({"recipe": "mine.toml", "norm": "none"}).configs()[0].lr == 0.01
    assert ORDER[: len(GRID_FIELDS)] == GRID_FIELDS
    assert f"{', '.join(f'`{name}`' for name in GRID_FIELDS[:-1])} and `{GRID_FIELDS[-1]}` vary slowest" in " ".join(
        page.split()
    )
    assert ORDER[-1] == "seed"


def test_a_recipe_file_is_not_silently_ignored_where_it_is_not_read() -> None:
    with pytest.raises(
        UsageError, match=r"recipe mine\.toml is a file, which only `train`, `tune` and experiment files accept"
    ):
        make_config({"recipe": "mine.toml"})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sumary = 'x'", "mine.toml, line 1: there is no 'sumary' in a recipe; did you mean 'summary'?"),
        ("settings = 3", "mine.toml, line 1: settings is 3; write [settings]"),
        ("[settings]\n\nlrr = 3", "mine.toml, line 3: there is no setting 'lrr'; did you mean 'lr'?"),
        ("[settings]\nlr = [1, 2]", "mine.toml, line 2: lr has several values; give one"),
        ("[settings]\nnorm = 'augnorm:phi=1..2/3'", "mine.toml, line 2: norm is a range; give one value"),
        ("[settings]\nrecipe = 'digits'", "mine.toml, line 2: a recipe cannot name another one"),
        ("[[exceptions]]\nlr = 3", "mine.toml, line 1: the exception names neither norm nor act"),
        ("[[exceptions]]\nnorm = 'bn'\n[[exceptions]]\nnorm = 'b'", "mine.toml, line 4: unknown norm 'b'"),
        ("exceptions = 'none'", "mine.toml, line 1: exceptions is 'none'; write [[exceptions]]"),
    ],
)
def test_an_error_in_a_recipe_names_its_line(text: str, says: str) -> None:
    Path("mine.toml").write_text(text)
    with pytest.raises(UsageError) as refused:
        read_recipe(Path("mine.toml"))
    assert str(refused.value).startswith(says)


@pytest.mark.parametrize("name", recipes.names())
def test_the_built_in_recipes_have_the_same_format(name: str) -> None:
    assert read_recipe(recipes.FOLDER / f"{name}.toml").settings == recipes.find(name).settings
