"""Private parts of torch stand in three files, are tried before they are trusted, and have a fallback."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from normbench_cli import fast_paths
from tests.source import FILES, parsed, place, text

PRIVATE = {
    "norms/_compile.py": {
        "torch._dynamo.source.ConstantSource",
        "torch._guards.TracingContext",
        "torch._guards.tracing",
        "torch._inductor.codecache",
        "torch._inductor.compile_fx.compile_fx",
        "torch._inductor.config",
        "torch._inductor.cpp_builder.get_cpp_compiler",
        "torch._inductor.cpu_vec_isa",
        "torch._inductor.runtime.cache_dir_utils.cache_dir",
        "torch._subclasses.fake_tensor.FakeTensorMode",
        "torch.fx.experimental.proxy_tensor.make_fx",
        "torch.fx.experimental.symbolic_shapes.DimDynamic",
        "torch.fx.experimental.symbolic_shapes.ShapeEnv",
        "torch.fx.experimental.symbolic_shapes.StatelessSymbolicContext",
    },
    "norms/_batch/batch_norm_operators.py": {
        "torch.ops.aten.batch_norm_update_stats",
        "torch.ops.aten.native_batch_norm_backward",
    },
    "models/_blocks/onednn_linear.py": {"torch.ops.mkldnn._linear_pointwise"},
}
ANYWHERE = {  # base classes that the whole field imports, and what torch's own gradient clipping calls
    "torch.nn.modules.batchnorm._BatchNorm",
    "torch.nn.modules.conv._ConvNd",
    "torch.nn.modules.conv._ConvTransposeNd",
    "torch.nn.modules.instancenorm._InstanceNorm",
    "torch._foreach_norm",
    "torch.ops.normbench",  # our own
}


def names_of_torch(tree: ast.Module) -> Iterator[str]:
    """The full names of all parts of torch that are imported, or reached from what is imported."""
    imported = {"torch": "torch"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "torch":
            imported |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            imported |= {alias.asname: alias.name for alias in node.names if alias.asname and "torch" in alias.name}
    yield from imported.values()
    for node in ast.walk(tree):
        first, _, rest = dotted(node).partition(".")
        if rest and first in imported:
            yield f"{imported[first]}.{rest}"


def dotted(node: ast.AST) -> str:
    """`a.b.c` as it is written; nothing for what is no such name."""
    if isinstance(node, ast.Name):
        return node.id
    before = dotted(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{before}.{node.attr}" if isinstance(node, ast.Attribute) and before else ""


def is_private(name: str) -> bool:
    hidden = any(part.startswith("_") and not part.startswith("__") for part in name.split("."))
    return hidden or name.startswith(("torch.ops.", "torch.fx.experimental."))


def test_private_parts_of_torch_stand_in_three_files() -> None:
    found = {place(path): parts for path in FILES if "torch" in text(path) and (parts := private_parts(path))}
    for file, listed in PRIVATE.items():
        assert listed <= found[file]
    hidden = {file: {name for name in parts if not is_known(name, file)} for file, parts in found.items()}
    assert not {file: names for file, names in hidden.items() if names}


def private_parts(path: Path) -> set[str]:
    return {name for name in names_of_torch(parsed(path)) if is_private(name)}


def is_known(name: str, file: str) -> bool:
    known = PRIVATE.get(file, set()) | ANYWHERE
    return any(f"{name}.".startswith(f"{one}.") or one.startswith(f"{name}.") for one in known)


def test_the_files_with_private_parts_are_those_that_doctor_asks() -> None:
    owners = {*PRIVATE, "norms/_native/library.py"}  # which needs a compiler, and no part of torch
    assert {f"normbench_cli/{path}" for path in owners} == {f"{u.replace('.', '/')}.py" for u in fast_paths.USERS}


def test_a_trial_runs_once_and_its_failure_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(fast_paths, "_outcomes", {})
    asked = []

    def trial() -> None:
        asked.append(1)
        raise AttributeError("it is gone\nsince yesterday")

    assert not fast_paths.failed("a path")
    for _ in range(2):
        assert not fast_paths.passes("a path", trial, "all is slower")
        assert fast_paths.passes("another", lambda: asked.append(2), "nothing")
    assert asked == [1, 2]
    assert fast_paths.failed("a path")
    assert [r.message for r in caplog.records] == ["all is slower: a path failed with AttributeError (it is gone)"]
