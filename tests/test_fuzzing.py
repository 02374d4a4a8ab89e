"""1,000 hostile inputs of every kind: each command ends by contract, writes nowhere else and loses no row.

`python -m tests.fuzzing KIND:SEED` shows one case and what it breaks.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzzing.kinds import KINDS, Case, cases, make_input
from tests.fuzzing.sandbox import Sandbox

CASES, QUICK, AT_ONCE = 1000, 500, 50


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    return Sandbox(tmp_path_factory.mktemp("sandbox").resolve())


@pytest.fixture
def inside(sandbox: Sandbox) -> Iterator[Sandbox]:
    with sandbox.entered():
        yield sandbox


@pytest.mark.parametrize(
    "first",
    [pytest.param(first, marks=[] if first < QUICK else [pytest.mark.slow]) for first in range(0, CASES, AT_ONCE)],
)
def test_every_command_keeps_the_rules(inside: Sandbox, first: int) -> None:
    broken = [line for case in cases(first, AT_ONCE) for line in inside.try_case(case)]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("kind", KINDS)
def test_a_case_is_always_the_same(inside: Sandbox, kind: str) -> None:
    made = []
    for _ in range(2):
        inside.restore()
        made.append(make_input(Case(kind, 7), inside.root, inside.run_ids))
    assert made[0] == made[1]
