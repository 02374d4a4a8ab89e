"""The digits and their split are scikit-learn's, read without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from normbench_cli.datasets._images import digits


@pytest.mark.parametrize("file", [digits.DIGITS, Path("elsewhere")])
def test_the_images_are_those_of_scikit_learn_wherever_it_keeps_them(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digits, "DIGITS", file)
    images, shown = digits.read_digits()
    bunch = load_digits()
    assert (images.dtype, shown.dtype) == (bunch.images.dtype, bunch.target.dtype)
    assert (images == bunch.images).all()
    assert (shown == bunch.target).all()


def test_the_split_is_the_stratified_one_of_scikit_learn() -> None:
    shown = load_digits().target
    expected = train_test_split(np.arange(len(shown)), test_size=360, stratify=shown, random_state=0)
    for found, part in zip(digits.split_digits(), expected, strict=True):
        assert found.tolist() == part.tolist()


def test_digits_load_no_scikit_learn() -> None:
    code = "from normbench_cli.datasets import DATASETS; DATASETS.build('digits'); print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", f"import sys; {code}"], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"
