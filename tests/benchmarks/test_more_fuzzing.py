"""20,000 hostile inputs.

    pytest -m benchmark tests/benchmarks/test_more_fuzzing.py

NORMBENCH_CASES sets another number of them, NORMBENCH_FIRST_CASE the seed of the first.
"""

from __future__ import annotations

import os

import pytest

from tests.fuzzing.kinds import cases
from tests.fuzzing.sandbox import Sandbox
from tests.test_fuzzing import inside, sandbox

__all__ = ["inside", "sandbox"]  # fixtures
COUNT = int(os.environ.get("NORMBENCH_CASES", "20000"))
FIRST = int(os.environ.get("NORMBENCH_FIRST_CASE", "1000"))
AT_ONCE = 500


@pytest.mark.benchmark
@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, AT_ONCE))
def test_every_command_keeps_the_rules(inside: Sandbox, first: int) -> None:
    broken = [line for case in cases(first, min(AT_ONCE, FIRST + COUNT - first)) for line in inside.try_case(case)]
    assert not broken, "\n".join(broken)
