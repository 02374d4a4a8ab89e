"""The filters of the page on reports are understood."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.store.filter import parse_filter

PAGE = (Path(__file__).parents[2] / "normbench_cli" / "docs" / "reports.md").read_text()
FILTERS = re.findall(r"<!-- filters: .*? -->\n```text\n(.*?)```", PAGE, re.S)[0].splitlines()
RUN: dict[str, Any] = {"norm": "popnorm:kappa=8", "act": "relu", "model": "resnet20", "seed": 3, "test/accuracy": 0.95}
HOLD = ["norm=popnorm:kappa=8", "model=resnet20 and seed<10", "test/accuracy > 0.9", "epochs = none"]


@pytest.mark.parametrize("text", FILTERS)
def test_each_filter_is_understood(text: str) -> None:
    always = text.startswith("not (norm=bn")
    assert parse_filter(text).matches(RUN) is (text in HOLD or always)
