"""What is read from a component's file: its registrations, with their facts, and what is wrong with them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.registry import Registry
from normbench_cli.registry.contract import Contract
from normbench_cli.registry.entry import Registration, registrations
from normbench_cli.registry.facts import NormFacts
from normbench_cli.registry.source import Unreadable

FILE = '''
@NORMS.register("first", aliases=("f",), paper="Them 2026", placement="before")
class First:
    """One line.

    More.
    """

@functools.cache
@registry.NORMS.register("second", summary="Said here.")
def second(op): ...

NORMS.register("third", needs_batch=True)(nn.Third)

@atexit.register
def unrelated(): ...
'''


def test_registrations_are_read_from_decorators_and_calls() -> None:
    assert list(registrations(ast.parse(FILE))) == [
        Registration("first", "First", ("f",), "One line.", "Them 2026", {"placement": "before"}),
        Registration("second", "second", (), "Said here.", "", {}),
        Registration("third", "nn.Third", (), "", "", {"needs_batch": True}),
    ]


@pytest.mark.parametrize("call", ['register("x", placement=WHERE)', "register(NAME)", "register()"])
def test_arguments_that_are_not_literals_are_named_by_their_line(call: str) -> None:
    with pytest.raises(Unreadable, match="line 2: the arguments of register are not a name and literals"):
        list(registrations(ast.parse(f"\n@NORMS.{call}\nclass X: ...")))


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (
            {"a": '@NORMS.register("x", placment="before")\nclass X: ...'},
            r"a\.py: 'placment' is not a fact",
        ),
        ({"a": '@NORMS.register("x", graphs="yes")\nclass X: ...'}, r"a\.py: the fact graphs='yes'"),
        ({"a": "@NORMS.register(NAME)\nclass X: ..."}, r"a\.py cannot be read: line 1"),
        ({"a": "class X:"}, r"a\.py cannot be read: expected an indented block"),
        (dict.fromkeys("ab", '@NORMS.register("x")\nclass X: ...'), "two norm components are named 'x'"),
    ],
)
def test_a_wrong_file_of_the_package_is_named(
    files: dict[str, str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "their_package" / "norms"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    for name, source in files.items():
        (package / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = Registry("norm", "their_package.norms", NormFacts, Contract())
    with pytest.raises(UsageError, match=says):
        registry.choices()
