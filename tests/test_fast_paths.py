"""Private parts of torch stand in three files, are tried before they are trusted, and have a fallback."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from normbench_cli import fast_paths

PACKAGE = Path(__file__).parents[1] / "normbench_cli"
PRIVATE = {
    "norms/_compile.py": {
        "torch._dynamo.source.ConstantSource",
        "torch._guards.TracingContext",
        "torch._guards.tracing",
        "torch._inductor.codecache",
        "torch._inductor.compile",
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
        "torch.ops.aten.batch_norm_update_stats",
        "torch.ops.aten.native_batch_norm_backward",
    },
    "norms/_quick_functions.py": {
        "torch._inductor.codegen.cpp",
        "torch._inductor.config",
        "torch._inductor.custom_graph_pass",
        "torch._inductor.virtualized",
    },
    "models/_blocks/onednn_linear.py": {"torch.ops.mkldnn._linear_pointwise"},
}
ANYWHERE = {  # base classes that the whole field imports, and what torch's own gradient clipping calls
    "torch.nn.modules.batchnorm._BatchNorm",
    "torch.nn.modules.conv._ConvNd",
    "torch.nn.modules.conv._ConvTransposeNd",
    "torch.nn.modules.instancenorm._InstanceNorm",
    "torch._foreach_norm",
}


def names_of_torch(source: str) -> Iterator[str]:
    """The full names of all parts of torch that are imported, or reached from what is imported."""
    tree = ast.parse(source)
    imported = {"torch": "torch"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "torch":
            imported |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            imported |= {alias.asname: alias.name for alias in node.names if alias.asname and "torch" in alias.name}
    yield from imported.values()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            first, _, rest = ast.unparse(node).partition(".")
            if first in imported and rest.replace(".", "").isidentifier():
                yield f"{imported[first]}.{rest}"


def is_private(name: str) -> bool:
    hidden = any(part.startswith("_") and not part.startswith("__") for part in name.split("."))
    return hidden or name.startswith(("torch.ops.", "torch.fx.experimental."))


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_private_parts_of_torch_stand_in_three_files(path: Path) -> None:
    listed = PRIVATE.get(path.relative_to(PACKAGE).as_posix(), set())
    found = {name for name in names_of_torch(path.read_text(encoding="utf-8")) if is_private(name)}
    assert listed <= found
    known = listed | ANYWHERE
    assert not [a for a in found if not any(f"{a}.".startswith(f"{b}.") or b.startswith(f"{a}.") for b in known)]


def test_the_files_with_private_parts_are_those_that_doctor_asks() -> None:
    assert {f"normbench_cli/{path}" for path in PRIVATE} == {f"{u.replace('.', '/')}.py" for u in fast_paths.USERS}


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
