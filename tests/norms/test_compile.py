"""Compiled kernels: which calls share one, what happens without a working compiler, what inductor is told."""

from __future__ import annotations

import multiprocessing
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._dynamo.utils import counters
from torch._inductor import config

from normbench_cli import fast_paths
from normbench_cli.norms import _compile
from normbench_cli.norms._batch import batch_norm_operators, popnorm_kernels
from normbench_cli.norms._compile import InductorKernel, keep_headers_in_cache
from normbench_cli.norms._native import columns
from normbench_cli.norms.popnorm import POPNorm


def standardized(x: Tensor, weight: Tensor | None, *, eps: float) -> Tensor:
    y = (x - x.sum(0) / x.shape[0]) / (x.square().sum(0) + eps)
    return y if weight is None else y * weight


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """No fast path has been tried; kernels are compiled whatever the size of their data."""
    monkeypatch.setenv("NORMBENCH_COMPILE", "always")
    monkeypatch.setattr(fast_paths, "_outcomes", {})
    return fast_paths._outcomes


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, outcomes: dict[str, str]) -> list[tuple[int, ...]]:
    """The shapes that are compiled; nothing really is, which saves seconds."""
    shapes: list[tuple[int, ...]] = []

    def pretend(function: Callable[..., Any], given: list[Tensor], open_dims: int) -> Callable[..., Any]:
        shapes.append((*given[0].shape, open_dims))
        return function

    monkeypatch.setattr(_compile, "_compiled", pretend)
    return shapes


def no_compiler(*_: object) -> None:
    raise RuntimeError("no compiler here\nand a long story")


@pytest.mark.parametrize("dynamic_rows", [False, True])
def test_a_kernel_that_was_compiled_before_comes_from_the_cache_on_disk(
    outcomes: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, dynamic_rows: bool
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    x, weight = torch.randn(6, 4), torch.ones(4)
    first = InductorKernel(standardized)(x, weight, eps=1e-5, dynamic_rows=dynamic_rows)
    counters.clear()
    again = InductorKernel(standardized)(x, weight, eps=1e-5, dynamic_rows=dynamic_rows)
    assert torch.equal(first, again)
    assert dict(counters["inductor"]) == {"fxgraph_cache_hit": 1}
    counters.clear()
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "another processor")
    InductorKernel(standardized)(x, weight, eps=1e-5, dynamic_rows=dynamic_rows)
    assert counters["inductor"]["fxgraph_cache_miss"] == 1


def test_every_shape_dtype_option_and_thread_count_has_a_kernel_of_its_own(compiled: list[tuple[int, ...]]) -> None:
    kernel, x, weight = InductorKernel(standardized), torch.randn(6, 4), torch.ones(4)
    for _ in range(2):  # the second time all kernels are there
        kernel(x, weight, eps=1e-5)
        kernel(x[:5], weight, eps=1e-5)
        kernel(x.double(), weight.double(), eps=1e-5)
        kernel(x, weight.double(), eps=1e-5)
        kernel(x, weight, eps=1e-3)
        kernel(x, None, eps=1e-5)
        before = torch.get_num_threads()
        torch.set_num_threads(before + 1)
        try:
            kernel(x, weight, eps=1e-5)
        finally:
            torch.set_num_threads(before)
    assert len(compiled) == 7


def test_one_kernel_serves_any_number_of_rows_of_a_matrix(compiled: list[tuple[int, ...]]) -> None:
    kernel = InductorKernel(standardized)
    for rows in (3, 100, 1024):
        kernel(torch.randn(rows, 4), None, dynamic_rows=True, eps=1e-5)
        kernel(torch.randn(2, 4, rows), None, dynamic_rows=True, eps=1e-5)  # no matrix: a kernel for each shape
    assert compiled == [(3, 4, True), (2, 4, 3, False), (2, 4, 100, False), (2, 4, 1024, False)]


def test_one_kernel_serves_padded_batches_of_any_sizes(compiled: list[tuple[int, ...]]) -> None:
    kernel = InductorKernel(standardized, open_dims=2)
    for shape in ((3, 5, 4), (9, 2, 4), (100, 30, 4), (100, 30, 6)):
        kernel(torch.randn(shape), None, dynamic_rows=True, eps=1e-5)
    assert compiled == [(3, 5, 4, 2), (100, 30, 6, 2)]
    first, of_graphs, of_features = torch.randn(3, 5, 4), torch.randn(3, 1, 4), torch.randn(4)
    assert [sum(_compile._open(t, first, 2)) for t in (first, of_graphs, of_features)] == [2, 1, 0]


def test_the_size_of_the_whole_decides_whether_a_part_is_compiled(
    compiled: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORMBENCH_COMPILE", "auto")
    kernel, x = InductorKernel(standardized, open_dims=2), torch.randn(2, 3, 4)
    kernel(x, None, dynamic_rows=True, eps=1e-5)
    assert compiled == []
    kernel(x, None, dynamic_rows=True, part_of=torch.randn(100, 100, 4), eps=1e-5)
    assert compiled == [(2, 3, 4, 2)]


def test_the_number_of_kernels_has_a_limit(compiled: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_compile, "MOST_KERNELS", 2)
    kernel = InductorKernel(standardized)
    for rows in (3, 4, 5, 5, 3):
        x = torch.randn(rows, 4)
        assert torch.equal(kernel(x, None, eps=1e-5), standardized(x, None, eps=1e-5))
    assert [rows for rows, _, _ in compiled] == [3, 4, 5, 3]
    assert len(kernel.compiled) == 2


@pytest.mark.parametrize("dynamic_rows", [False, True])
def test_kernels_compute_what_the_function_computes(outcomes: dict[str, str], dynamic_rows: bool) -> None:
    kernel, weight = InductorKernel(standardized), torch.tensor([1.0, 2.0, 3.0, -1.0])
    for rows in (8, 100, 1025, 2) if dynamic_rows else (8,):
        data = torch.randn(4, rows)
        for x in (data.t().contiguous(), data.t(), data[:, :1].expand(4, rows).t()):  # however it lies in memory
            found = kernel(x, weight, dynamic_rows=dynamic_rows, eps=1e-5)
            torch.testing.assert_close(found, standardized(x, weight, eps=1e-5))
    assert not any(outcomes.values())


def test_what_has_no_values_is_not_compiled(compiled: list[tuple[int, ...]], monkeypatch: pytest.MonkeyPatch) -> None:
    InductorKernel(standardized)(torch.randn(6, 4, device="meta"), None, eps=1e-5)
    monkeypatch.setenv("NORMBENCH_COMPILE", "auto")
    InductorKernel(standardized)(torch.randn(6, 4), None, eps=1e-5)
    assert not compiled


@pytest.mark.parametrize("spatial", [(), (3, 3)])
def test_a_layer_works_with_equal_results_when_the_compiler_is_broken(
    outcomes: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    spatial: tuple[int, ...],
) -> None:
    def results() -> list[Tensor]:
        layer, x = POPNorm(4), torch.randn(8, 4, *spatial, generator=torch.Generator().manual_seed(0)).requires_grad_()
        y = layer(x)
        (y * torch.linspace(0, 1, y.numel()).view_as(y)).sum().backward()
        return [y, x.grad, *(p.grad for p in layer.parameters()), *layer.buffers()]

    monkeypatch.setenv("NORMBENCH_COMPILE", "never")
    expected = results()
    monkeypatch.setenv("NORMBENCH_COMPILE", "always")
    monkeypatch.setattr(columns, "library", lambda: None)
    monkeypatch.setattr(_compile, "_compiled", no_compiler)
    for _ in range(2):
        torch.testing.assert_close(results(), expected, rtol=1e-5, atol=1e-6)
    assert [r.message for r in caplog.records] == [  # once, not for each layer and pass
        "norm layers run uncompiled, slower: inductor on cpu"
        f"{'' if spatial else ' with dynamic rows'} failed with RuntimeError (no compiler here)"
    ]


def test_without_torchs_batch_norm_operators_popnorm_computes_the_same(
    outcomes: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NORMBENCH_COMPILE", "never")
    x = torch.randn(8, 4, 3)
    expected = POPNorm(4)(x)
    monkeypatch.setattr(batch_norm_operators, "batch_norm_statistics", lambda x: (x.mean((0, 2)), x.amax((0, 2))))
    outcomes.clear()
    torch.testing.assert_close(POPNorm(4)(x), expected)
    assert "torch's batch norm operators on cpu failed with" in caplog.text
    monkeypatch.setattr(popnorm_kernels, "batch_norm_statistics", no_compiler)  # not asked again
    POPNorm(4)(x)


def test_all_fallbacks_are_listed_after_a_trial_of_each(
    outcomes: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fast_paths.fallbacks() == []
    assert {"inductor on cpu", "inductor on cpu with dynamic rows"} <= outcomes.keys()
    outcomes.clear()
    monkeypatch.setattr(_compile, "_compiled", lambda function, *_: lambda x: function(x) + 1)
    expected = ["norm layers run uncompiled, slower"] * 2
    assert [reason.partition(":")[0] for reason in fast_paths.fallbacks()] == expected
    assert all("wrong values" in reason for reason in fast_paths.fallbacks()[:2])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have one kind of vector instructions")
@pytest.mark.parametrize(("compiler", "trusted"), [("true", True), ("false", False), ("is-not-there", False)])
def test_the_vector_instructions_are_trusted_if_the_compiler_knows_their_names(
    monkeypatch: pytest.MonkeyPatch, compiler: str, trusted: bool
) -> None:
    monkeypatch.setattr("torch._inductor.cpp_builder.get_cpp_compiler", lambda: compiler)
    with config.patch({"cpp.vec_isa_ok": None}):
        assert _compile._compiler_knows_the_processor.__wrapped__() == trusted


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have one kind of vector instructions")
def test_inductor_tests_the_vector_instructions_itself_where_its_list_has_moved(
    monkeypatch: pytest.MonkeyPatch, outcomes: dict[str, str]
) -> None:
    monkeypatch.delattr("torch._inductor.cpu_vec_isa.supported_vec_isa_list")
    with config.patch({"cpp.vec_isa_ok": None}):
        assert not _compile._compiler_knows_the_processor.__wrapped__()
    assert "inductor tests them itself" in outcomes["inductor's list of vector instructions"]


@pytest.mark.parametrize("decided", [True, False])
def test_a_setting_of_the_user_stands(decided: bool) -> None:
    with config.patch({"cpp.vec_isa_ok": decided}):
        assert not _compile._compiler_knows_the_processor.__wrapped__()


def test_a_child_process_compiles_without_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inductor's helper processes are the parent's: a forked child would wait for them forever."""
    assert "compile_threads" not in _compile._inductor_settings()
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: object())
    assert _compile._inductor_settings()["compile_threads"] == 1


def test_precompiled_headers_are_kept_with_inductors_other_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from torch._inductor import codecache

    monkeypatch.setattr(codecache, "_HEADER_DIR", "elsewhere")
    monkeypatch.setattr(codecache, "_HEADER_LOCK_DIR", "elsewhere/locks")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "compiled"))
    keep_headers_in_cache()
    assert Path(codecache._HEADER_DIR) == tmp_path / "compiled" / "precompiled_headers"
