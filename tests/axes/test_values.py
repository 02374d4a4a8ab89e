"""What is given for a setting, and the values that it means: the same ones for text, numbers and lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from normbench_cli.axes.values import pieces, read_pieces, setting_name
from normbench_cli.errors import NormbenchError, UsageError
from normbench_cli.registry.trust import recorded_in


def values(name: str, given: Any) -> list[Any]:
    return read_pieces(name, pieces(name, given))


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("lr", "0.03, 0.1,0.3", [0.03, 0.1, 0.3]),
        ("lr", ["0.03,0.1", 1], [0.03, 0.1, 1.0]),
        ("lr", np.array([0.5, 1.0]), [0.5, 1.0]),
        ("lr", ("0.1..0.3/3", 1), [0.1, 0.2, 0.3, 1.0]),
        ("batch_size", "log:16..64/3", [16, 32, 64]),
        ("batch_size", range(16, 65, 16), [16, 32, 48, 64]),
        ("epochs", "5,none", [5, None]),
        ("init", "xavier,kaiming", ["xavier", "kaiming"]),
        ("norm", "bn,popnorm:kappa=4,remove=none", ["bn", "popnorm:kappa=4,remove=none"]),
        ("norm", "augnorm:phi=1.1..1.5/3,bn", ["augnorm:phi=1.1", "augnorm:phi=1.3", "augnorm:phi=1.5", "bn"]),
        ("norm", "ws+gn:groups=2..8/4", [f"ws+gn:groups={groups}" for groups in (2, 4, 6, 8)]),
        ("norm", "popnorm:kappa=1..2/2,eps=log:1e-5..1e-3/2",
         [f"popnorm:kappa={kappa},eps={eps}" for kappa in (1, 2) for eps in ("1e-05", "0.001")]),
        ("schedule", "step:at=16/24,of=30,cosine", ["step:at=16/24,of=30", "cosine"]),
        ("data", "folder:path=../birds/5,size=8", ["folder:path=../birds/5,size=8"]),
        ("recipe", r"a\,b.toml,digits", ["a,b.toml", "digits"]),
        ("note", "one, two", ["one, two"]),
        ("tag", "a,b", ["a,b"]),
        ("seed", ["0-2", 7, "1"], [0, 1, 2, 7]),
        ("seed", range(2), [0, 1]),
    ],
)  # fmt: skip
def test_what_is_given_means_these_values(name: str, given: Any, expected: list[Any]) -> None:
    found = values(name, given)
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("lr", ",", "lr is empty; give a value, or leave it out"),
        ("norm", [], "norm is empty; name a norm, or leave it out"),
        ("lr", "0.1,x", "lr=x is not a number"),
        ("lr", [[0.1]], r"lr is \[0.1\], not a number"),
        ("lr", {"a": 1}, "lr is {'a': 1}, not a number"),
        ("lr", 10**400, "lr is too large for a number"),
        ("lr", "0..1/3", "lr is 0.0; give a number above 0"),
        ("batch_size", 16.5, "batch_size is 16.5, not a whole number"),
        ("init", "xaver", "did you mean 'xavier'"),
        ("norm", 3, "norm is 3, which is not text"),
        ("norm", "augnorm:phi=1.1..1.9", "augnorm:phi=1.1..1.9 is not a range"),
        ("norm", "augnorm:phi=0.5..1.9/3", "augnorm:phi is 0.5; give 1 to 16, or inf"),
        ("workers", [0, 2], "workers has 2 values, and a run's result does not depend on it; give one"),
        ("seed", "0..9/10", "are not whole numbers; write 3, 0-9 or 1,5,7"),
        ("seed", [-1], "seed is -1; give 0 to"),
    ],
)
def test_what_means_nothing_is_refused(name: str, given: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        values(name, given)


def test_a_key_is_a_setting_under_its_options_name() -> None:
    assert [setting_name(key) for key in ("batch-size", "batch_size", "seeds", "seed")] == [
        *("batch_size", "batch_size", "seed", "seed")
    ]
    with pytest.raises(UsageError, match="there is no setting 'lrr'; did you mean 'lr'"):
        setting_name("lrr")


def test_a_range_in_the_spec_of_a_file_imports_nothing_that_is_not_allowed() -> None:
    with pytest.raises(NormbenchError, match=r"mine\.toml asks for the norm 'evil:Norm', which runs code"):
        read_pieces("norm", ["evil:Norm:phi=1..2/3"], recorded_in("mine.toml"))
