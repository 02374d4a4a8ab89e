"""A row that somebody else has written imports nothing that the user has not allowed, whatever command reads it."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import normbench_cli as nb
from normbench_cli import paths
from normbench_cli.config import REGISTRIES, make_config
from normbench_cli.errors import NormbenchError
from normbench_cli.registry.trust import NotAllowed
from normbench_cli.store import Store
from tests.source import FILES, parsed, place, text
from tests.support import RunCommand

TINY: dict[str, Any] = {"data": "digits:size=8", "model": "mlp:width=8", "iterations": 2, "batch_size": 64}
EVIL = """
import os, pathlib
from torch import nn
pathlib.Path("was imported").touch()
class Thing(nn.Identity):
    def __init__(self, num_features: int = 1): super().__init__()
"""


@pytest.fixture(autouse=True)
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Their module in the working folder and on sys.path."""
    (tmp_path / "evil.py").write_text(EVIL)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("evil", None)


def was_imported() -> bool:
    return "evil" in sys.modules or Path("was imported").exists()


def plant(status: str = "finished", fingerprint: str = "f" * 16, **settings: Any) -> str:
    """A row as anybody could write it."""
    with Store.open() as store:
        run_id = store.begin(make_config(TINY).to_dict() | settings, fingerprint, {}, argv=[])
        store.record(run_id, {"test/accuracy": 0.5}, epoch=1, step=1)
        store.end(run_id, status)
    return run_id


READING = [
    ["report", "--where", "norm=evil:Thing"],
    ["report", "--where", "norm=evil:Thing:eps=1"],
    ["report", "--by", "norm,model", "--curve", "test/accuracy", "--json"],
    ["runs", "list", "--where", "norm=evil:Thing"],
    ["runs", "list", "--json"],
    ["runs", "show"],
    ["db", "check"],
]


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_commands_that_read_show_the_spec_as_text(normbench: RunCommand, words: list[str]) -> None:
    run_id = plant(norm="evil:Thing")
    ended = normbench(*words, *([run_id] if words[-1] == "show" else []))
    assert ended.code == (4 if "eps=1" in words[-1] else 0), ended.err
    assert "evil:Thing" in ended.out or "eps=1" in words[-1] or words[0] == "db"
    assert not was_imported()


def test_python_callers_that_read_import_nothing() -> None:
    plant(norm="ws+evil:Thing")
    assert nb.runs(where="norm=ws+evil:Thing")["norm"].tolist() == ["ws+evil:Thing"]
    assert nb.metrics("test/accuracy", where="norm=ws+evil:Thing")["value"].tolist() == [0.5]
    assert not was_imported()


@pytest.mark.parametrize("field", REGISTRIES)
@pytest.mark.parametrize("command", [["eval"], ["train", "--resume"]], ids=" ".join)
def test_what_would_import_it_says_what_is_asked_for_and_how_to_allow_it(
    normbench: RunCommand, command: list[str], field: str
) -> None:
    spec = "ws+evil:Thing:eps=1" if field == "norm" else "evil:Thing"
    run_id = plant("finished" if command == ["eval"] else "interrupted", **{field: spec})
    ended = normbench(*command, run_id)
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert ended.err == (
        f"normbench: run {run_id} asks for the {REGISTRIES[field].kind} 'evil:Thing', which runs code of the package "
        "evil; if you trust that package: --allow evil (in Python: allow='evil')\n"
    )
    assert not was_imported()


def test_a_model_of_a_planted_row_is_not_loaded() -> None:
    run_id = plant(norm="evil:Thing")
    for use in (nb.load_model, nb.evaluate):
        with pytest.raises(NotAllowed, match="asks for the norm 'evil:Thing'"):
            use(run_id)
    assert not was_imported()


def test_a_planted_row_in_place_of_a_cell_of_a_grid_imports_nothing() -> None:
    cells = [make_config(TINY | {"seed": seed}).fingerprint() for seed in (0, 1)]
    for fingerprint in cells:
        plant(fingerprint=fingerprint, norm="evil:Thing")
    with pytest.raises(NotAllowed):
        nb.train(seeds=[0, 1], **TINY)
    assert not was_imported()


def test_the_users_own_words_import_what_they_name_and_nobody_is_remembered(normbench: RunCommand) -> None:
    tiny = [word for name, value in TINY.items() for word in ("--set", f"{name}={value}")]
    trained = normbench("train", "--norm", "evil:Thing", *tiny, "--json")
    assert trained.code == 0, trained.err
    (run,) = json.loads(trained.out)["runs"]
    assert not paths.allowed_file().exists()
    assert normbench("eval", run["id"]).code == 1
    assert normbench("eval", run["id"], "--allow", "evil").code == 0
    assert normbench("eval", run["id"]).code == 0
    listed = normbench("list", "allowed")
    assert "evil" in listed.out
    assert str(paths.allowed_file()) in listed.err
    lines = paths.allowed_file().read_text().splitlines()
    paths.allowed_file().write_text("\n".join(line for line in lines if line != "evil"))
    assert normbench("eval", run["id"]).code == 1
    assert json.loads(normbench("list", "allowed", "--json").out)["allowed"] == []


def test_a_python_caller_may_load_what_he_has_just_trained() -> None:
    results = nb.train(norm="evil:Thing", seeds=[0, 1], **TINY)
    assert [result.id for result in nb.train(norm="evil:Thing", seeds=[0, 1], **TINY)] == [one.id for one in results]
    assert nb.load_model(results[0]) is not None
    assert nb.load_model(results[0].id, allow="evil") is not None
    with pytest.raises(NotAllowed):
        nb.load_model(results[0].id)


def test_an_allowed_package_gives_no_access_to_what_others_define(normbench: RunCommand) -> None:
    run_id = plant(data="evil:os.system:command=touch escaped")
    ended = normbench("eval", run_id, "--allow", "evil")
    assert ended.code == 1
    assert "asks for the data set 'evil:os.system', which runs code of the package" in ended.err
    assert not Path("escaped").exists()


@pytest.mark.parametrize("name", ["evil.sub", "evil:Thing", "a b", "../evil"])
def test_what_is_allowed_is_the_name_of_a_package(normbench: RunCommand, name: str) -> None:
    ended = normbench("eval", "0000", "--allow", name)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "is not the name of a package; write --allow" in ended.err


def test_an_unreadable_list_of_packages_is_one_line(normbench: RunCommand) -> None:
    run_id = plant(norm="evil:Thing")
    paths.allowed_file().write_bytes(b"\xff\xfe")
    ended = normbench("eval", run_id)
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert "allowed-packages.txt cannot be read" in ended.err


def calls_with_unpacked_values(name: str) -> set[str]:
    """The files of the package that call a function with ``**values``, as rows have them."""
    named = [path for path in FILES if name in text(path)]
    return {place(path) for path in named if any(unpacked(node, name) for node in ast.walk(parsed(path)))}


def unpacked(node: ast.AST, name: str) -> bool:
    """Whether this is a call of the function with ``**values``."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name):
        return False
    return any(not keyword.arg for keyword in node.keywords)


def test_configurations_are_made_of_loose_values_only_where_their_origin_is_stated() -> None:
    """`make_config` imports nothing by default; the others copy a configuration that it has made."""
    copies = {"build/resolution.py", "experiments/dry_run.py"}
    assert calls_with_unpacked_values("RunConfig") <= {"config.py", *copies}
    assert calls_with_unpacked_values("ResolvedConfig") <= {"build/resolution.py"}
    with pytest.raises(NormbenchError, match="asks for the norm"):
        make_config({"norm": "evil:Thing"})


class Payload:
    """What pickle would run when it reads this: it makes a file."""

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(Path("was unpickled").absolute()), "w")


def test_a_checkpoint_runs_nothing() -> None:
    (result,) = nb.train(**TINY)
    for file in paths.run_folder(result.id).iterdir():
        torch.save(torch.load(file, weights_only=True) | {"note": Payload()}, file)
    for use in (nb.load_model, nb.evaluate):
        with pytest.raises(NormbenchError, match="damaged or not a normbench checkpoint"):
            use(result.id)
    assert not Path("was unpickled").exists()


def test_any_reader_of_the_home_sees_the_packages_once(home: Path, normbench: RunCommand) -> None:
    for _ in range(2):
        normbench("eval", "0000", "--allow", "evil", "--allow", "good")
    lines = paths.allowed_file().read_text().splitlines()
    assert lines[0].startswith("# ")
    assert lines[1:] == ["evil", "good"]
    assert str(home) in str(paths.allowed_file())
