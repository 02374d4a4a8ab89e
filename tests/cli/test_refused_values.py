"""Values that make no sense are refused where they are given: each by one exact line, with nothing recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from normbench_cli.device import memory_bytes
from tests.support import RunCommand, recorded_in

ABOVE_0, FROM_0, FINITE = "give a number above 0", "give 0 or more", "give a finite number"
DO_NOT_FIT = "do not divide the channels of every layer, which are 16, 32 and 64"
SIZES = "give 1, 2, 4, 8, 16, or leave groups out for a number that fits each layer"
NO_CLASS = "is not package.module:Class; give package.module:Class, or a name from `list`"
MINE = """
from torch import nn

class Net(nn.Module):
    def __init__(self, num_classes=10, in_channels=1):
        super().__init__()

class Nothing(nn.Module):
    pass
"""
SPECS = [
    ("--norm batchnorm:eps=nan", f"batchnorm:eps is nan; {ABOVE_0}"),
    ("--norm groupnorm:eps=nan", f"groupnorm:eps is nan; {FROM_0}"),
    ("--norm augnorm:eps=nan", f"augnorm:eps is nan; {FROM_0}"),
    ("--norm mediannorm:eps=nan", f"mediannorm:eps is nan; {FROM_0}"),
    ("--norm groupnorm:eps=inf", f"groupnorm:eps is inf; {FROM_0}"),
    ("--norm spectralnorm:eps=-1", f"spectralnorm:eps is -1.0; {FROM_0}"),
    ("--norm bn:momentum=-1", "batchnorm:momentum is -1.0; give 0 to 1"),
    ("--norm popnorm:momentum=nan", "popnorm:momentum is nan; give 0 to 1"),
    ("--norm popnorm:groups=10000000000000000000000000", "popnorm:groups is 1" + "0" * 25 + "; give 1 to 1,000,000"),
    ("--norm popnorm:groups=1e25", "popnorm:groups=1e25 is not a whole number or none; write a whole number or none"),
    ("--norm augnorm:eps=-1", f"augnorm:eps is -1.0; {FROM_0}"),
    ("--norm augnorm:phi=nan", "augnorm:phi is nan; give 1 to 16, or inf"),
    ("--schedule step:factor=-1", "step:factor is -1.0; give 0 to 1"),
    ("--schedule cosine:stairs=-1", "cosine:stairs is -1; give 0 to 1,000,000,000"),
    ("--schedule onecycle:start=nan", "onecycle:start is nan; give 0 to 1"),
    ("--act softplus:beta=nan", "softplus:beta is nan; give 0.001 to 1,000"),
    ("--act elu:alpha=nan", f"elu:alpha is nan; {FROM_0}"),
    ("--act hardtanh:max_val=inf", f"hardtanh:max_val is inf; {FINITE}"),
    (
        "--act hardtanh:min_value=inf",
        "activation 'hardtanh' has no parameter 'min_value'; did you mean 'min_val'? (choose from min_val, max_val)",
    ),
    ("--act gelu:approximate=x", "gelu:approximate is x; give none or tanh"),
    ("--set checkpoint_minutes=inf", f"checkpoint_minutes is inf; {FROM_0}"),
    ("--set checkpoint_minutes=-1", f"checkpoint_minutes is -1.0; {FROM_0}"),
    ("--epochs 10000000000", "epochs is 10000000000; give 1 to 1,000,000,000"),
    ("--workers 1000000", "workers is 1000000; give 0 to 1,024"),
    ("--seed ²", "seeds '²' are not whole numbers; write 3, 0-9 or 1,5,7"),
    ("--seed " + "9" * 5000, "the name 99999999999999999999... has 5,000 characters; give a name of at most 255 bytes"),
    ("--model mlp:depth=100000000", "mlp:depth is 100000000; give 1 to 1,000"),
    ("--norm ..:x", f"norm '..:x' {NO_CLASS}"),
    ("--act ..:x", f"activation '..:x' {NO_CLASS}"),
    ("--model ..:x", f"model '..:x' {NO_CLASS}"),
    ("--data ..:x", f"data set '..:x' {NO_CLASS}"),
    ("--objective ..:x", f"objective '..:x' {NO_CLASS}"),
    ("--schedule ..:x", f"schedule '..:x' {NO_CLASS}"),
    ("--norm ", "--norm is empty; give it a value, or leave it out"),
    ("--db ", "--db is empty; give it a value, or leave it out"),
    ("--norm \udcff", "the argument '\\udcff' is not in UTF-8; write it in UTF-8"),
    (
        "--data folder:path=" + "a" * 256,
        "the name aaaaaaaaaaaaaaaaaaaa... has 256 characters; give a name of at most 255 bytes",
    ),
]
NETWORKS = [
    (
        "--act torch.nn:LayerNorm",
        "activation 'torch.nn:LayerNorm' needs 'normalized_shape'; write torch.nn:LayerNorm:normalized_shape=...",
    ),
    (
        "--act torch.nn:Linear:in_features=8,out_features=8",
        "out_features=8 cannot take digits:size=8: mat1",
    ),
    (
        "--act hardtanh:min_val=2",
        "activation 'hardtanh:min_val=2': min_val is 2 and max_val 1; give a max_val above min_val",
    ),
    (
        "--objective torch.nn:Linear",
        "objective 'torch.nn:Linear' needs 'in_features'; write torch.nn:Linear:in_features=...",
    ),
    (
        "--objective torch.nn:Linear:in_features=64,out_features=1",
        "objective 'torch.nn:Linear:in_features=64,out_features=1' cannot take the losses of 3 examples",
    ),
    (
        "--objective torch.nn:Identity",
        "objective 'torch.nn:Identity' does not make one number of the losses of a batch",
    ),
    ("--model mine:Net", "model 'mine:Net' does not take 'norm'; add it to its parameters"),
    ("--norm mine:Nothing", "norm 'mine:Nothing' does not take 'num_features'; add it to its parameters"),
    ("--schedule step:at=nan", "schedule 'step:at=nan': at=nan is not a list of points; write them as in at=16/24"),
    ("--norm augnorm:solver=newton:iterations=²", "solver 'newton:iterations=²' is unknown"),
    (
        "--norm popnorm:groups=8",
        "norm 'popnorm:groups=8': groups=8 has no effect with stats=batch: leave it out, or give stats=group",
    ),
    (
        "--norm instancenorm",
        "norm 'instancenorm' would normalize single values in the layer 'hidden.0.1', whose input is (N, 256), so that "
        "its output is the same for any data; use a norm over the batch or over several channels, or a model whose "
        "layers see images",
    ),
    ("--norm popnorm:stats=instance --model resnet20", "in the layer 'classifier.0', whose input is (N, 64)"),
    (
        "--norm groupnorm:groups=7 --model resnet20",
        f"norm 'groupnorm:groups=7': 7 groups {DO_NOT_FIT}; {SIZES}",
    ),
    (
        "--norm groupnorm:groups=17 --model resnet20",
        f"norm 'groupnorm:groups=17': 17 groups {DO_NOT_FIT}; {SIZES}",
    ),
    (
        "--norm popnorm:stats=group,groups=32 --model resnet20",
        "32 groups do not divide the channels of every layer, which are 1, 16, 32 and 64; give 1, or leave groups out",
    ),
    (
        "--model mlp:width=100000000",
        "model 'mlp:width=100000000' needs 160,001 TB for its weights and their gradients, and this machine has "
        f"{memory_bytes() / 1e9:.3g} GB of memory; give a smaller one",
    ),
    ("--db ~nosuchuser/x", "the path ~nosuchuser/x names an unknown user; write the path out"),
]


@pytest.mark.parametrize(("options", "line"), SPECS, ids=lambda text: ascii(text)[:40])
def test_a_value_that_makes_no_sense_is_refused(normbench: RunCommand, home: Path, options: str, line: str) -> None:
    ended = normbench("train", *options.split(" ", 1))
    assert (ended.code, ended.out, ended.err) == (2, "", f"normbench: {line}\n")
    assert not recorded_in(home)


@pytest.mark.parametrize(("options", "line"), NETWORKS, ids=lambda text: ascii(text)[:40])
def test_what_cannot_be_trained_is_refused_before_anything_is_recorded(
    normbench: RunCommand, home: Path, options: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    model = [] if "--model" in options else ["--model", "mlp"]
    ended = normbench("train", *model, "--data", "digits:size=8", "--batch-size", "64", *options.split(" "))
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith("normbench: ")
    assert line in ended.err
    assert not recorded_in(home)


def test_a_note_may_be_long_and_empty(normbench: RunCommand, home: Path) -> None:
    for words in (["--note", ""], ["--note="], ["--note", "long " * 1000], [f"--note={'long ' * 1000}"]):
        assert "epochs is 0" in normbench("train", *words, "--epochs", "0").err
