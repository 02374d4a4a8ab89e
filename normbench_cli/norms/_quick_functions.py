"""Roots, reciprocals, logarithms, exponentials and maxima that cost a kernel little more than reading its data.

Inductor takes roots and quotients from the processor's divider and the next two from Sleef, exact to the last digit;
on a processor with AVX-512 one of them takes longer than reading a value.  Here an estimate of the processor is
improved by a step of Newton's, and logarithm and exponential are polynomials: right to a few units in the last place.
Maximum and minimum hand on a NaN in two instructions instead of four.  On other processors, and for anything but
float32, inductor's own functions stay.

Since they are so quick, a kernel that needs a weight twice computes it twice.  Inductor would keep the logarithm and
the power of every value in memory, three more tensors of the size of x, and writing and reading them takes longer.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from normbench_cli import fast_paths
from normbench_cli.norms import _compile
from normbench_cli.norms._compile import InductorKernel, Kernel

PATH = "quick functions in inductor's kernels"
SLOWER = "norm layers with a robust center run slower"
LANES = 16  # float32 values in a register of AVX-512
# log(1 + t) / t for t in [-1/4, 1/2] and 2^t for t in [-1/2, 1/2]: interpolation at Chebyshev's points
LOG = (
    *(1.0, -0.5, 0.333335012, -0.249999166, 0.199890435),
    *(-0.166500315, 0.145042777, -0.1316152215, 0.1032947004, -0.0436159037),
)
EXP2 = (1.0, 0.69314718246, 0.2402265072, 0.0555032714, 0.00961805694, 0.0013400428, 0.00015461445)


def polynomial(coefficients: tuple[float, ...], variable: str) -> str:
    """C++ for a polynomial by Horner's rule."""
    text = f"_mm512_set1_ps({coefficients[-1]!r}f)"
    for coefficient in reversed(coefficients[:-1]):
        text = f"_mm512_fmadd_ps({text}, {variable}, _mm512_set1_ps({coefficient!r}f))"
    return text


def function(body: str, arguments: str = "__m512 x") -> str:
    return f"[]({arguments}) -> at::vec::Vectorized<float> {{ {body} }}"


def unless_nan(value: str, other: str) -> str:
    """C++ for the value, or the other one where the value is a NaN; by a table with a digit for each kind of number."""
    return f"_mm512_fixupimm_ps({other}, {value}, _mm512_set1_epi32(0x11111100), 0)"


# 0 and infinity make Newton's step a NaN; the estimate is right for them
IMPROVED = f"return {unless_nan('better', 'y')};"
# where one of two is a NaN the processor takes the second one
EXTREME = "return _mm512_fixupimm_ps(_mm512_{}_ps(b, a), b, _mm512_set1_epi32(0x11), 0);"
FUNCTIONS = {
    "rsqrt": function(
        "auto y = _mm512_rsqrt14_ps(x); auto half = _mm512_mul_ps(_mm512_mul_ps(x, _mm512_set1_ps(0.5f)), y);"
        f"auto better = _mm512_mul_ps(y, _mm512_fnmadd_ps(half, y, _mm512_set1_ps(1.5f))); {IMPROVED}"
    ),
    "reciprocal": function(
        "auto y = _mm512_rcp14_ps(x);"
        "auto better = _mm512_fmadd_ps(y, _mm512_fnmadd_ps(x, y, _mm512_set1_ps(1.0f)), y);"
        f"{IMPROVED}"
    ),
    "log": function(
        "auto m = _mm512_getmant_ps(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan); auto e = _mm512_getexp_ps(x);"
        "auto high = _mm512_cmp_ps_mask(m, _mm512_set1_ps(1.5f), _CMP_GE_OQ); auto one = _mm512_set1_ps(1.0f);"
        "m = _mm512_mask_mul_ps(m, high, m, _mm512_set1_ps(0.5f)); e = _mm512_mask_add_ps(e, high, e, one);"
        f"auto t = _mm512_sub_ps(m, one); auto p = {polynomial(LOG, 't')};"
        "return _mm512_fmadd_ps(e, _mm512_set1_ps(0.6931471805599453f), _mm512_mul_ps(t, p));"
    ),
    "exp": function(
        "x = _mm512_min_ps(_mm512_set1_ps(89.0f), _mm512_max_ps(_mm512_set1_ps(-104.0f), x));"
        "auto log2e = _mm512_set1_ps(1.4426950408889634f);"
        "auto n = _mm512_roundscale_ps(_mm512_mul_ps(x, log2e), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);"
        f"auto t = _mm512_fmsub_ps(x, log2e, n); return _mm512_scalef_ps({polynomial(EXP2, 't')}, n);"
    ),
    "maximum": function(EXTREME.format("max"), "__m512 a, __m512 b"),
    "minimum": function(EXTREME.format("min"), "__m512 a, __m512 b"),
}


class QuickKernel(InductorKernel):
    """A compiled kernel with the quick functions; for results that have a tolerance."""

    def _compile(
        self, tensors: Sequence[Tensor | None], given: list[Tensor], options: dict[str, Hashable], open_dims: int
    ) -> Kernel:
        if not (processor_has_them() and fast_paths.passes(PATH, _trial, SLOWER)):
            return super()._compile(tensors, given, options, open_dims)
        with _in_use():
            return super()._compile(tensors, given, options, open_dims)


def processor_has_them() -> bool:
    return torch.backends.cpu.get_cpu_capability() == "AVX512"


@contextmanager
def _in_use() -> Iterator[None]:
    """What is compiled meanwhile has the quick functions, and a key of its own among inductor's kernels on disk."""
    from torch._inductor import config, custom_graph_pass, ir, virtualized
    from torch._inductor.codegen import cpp

    class Marker(custom_graph_pass.CustomGraphPass):
        def __call__(self, graph: torch.fx.graph.Graph) -> None:
            pass

        def uuid(self) -> str:
            return repr((sorted(FUNCTIONS.items()), "nothing kept for reuse"))

    def quick(name: str, exact: Callable[..., str]) -> Callable[..., str]:
        """Inductor's method that writes the C++ for a function of vectors."""

        def write(*x: Any) -> str:
            kernel = virtualized.V.kernel
            one_register = kernel.tiling_factor == LANES and kernel._get_num_vectors(torch.float32) == 1
            fits = one_register and all(each.dtype == torch.float32 for each in x)
            return f"{FUNCTIONS[name]}({', '.join(map(str, x))})" if fits else exact(*x)

        write.__name__ = name
        return write

    own = {name: vars(cpp.CppVecOverrides)[name] for name in FUNCTIONS}
    keeps_for_reuse = ir.StorageBox.should_realize_on_reuse
    try:
        ir.StorageBox.should_realize_on_reuse = lambda *_, **__: False  # type: ignore[method-assign]
        for name, exact in own.items():
            setattr(cpp.CppVecOverrides, name, staticmethod(quick(name, exact.__func__)))
        with config.patch(post_grad_custom_post_pass=Marker()):
            yield
    finally:
        ir.StorageBox.should_realize_on_reuse = keeps_for_reuse  # type: ignore[method-assign]
        for name, exact in own.items():
            setattr(cpp.CppVecOverrides, name, exact)


def _trial() -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        extremes = torch.maximum(x.log(), x.flip(0)), torch.minimum(x.flip(0), x.log())
        return x.rsqrt(), x.reciprocal(), x.log(), (x / 4).exp(), *extremes

    x = torch.cat([torch.linspace(0.01, 20, 60), torch.tensor([0.0, 1e-30, torch.inf, torch.nan])])
    with _in_use():
        kernel = _compile._compiled(function, [x], 0)
    for found, expected in zip(kernel(x), function(x), strict=True):
        torch.testing.assert_close(found, expected, rtol=2e-6, atol=2e-6, equal_nan=True)


def try_fast_paths() -> None:
    if processor_has_them():
        fast_paths.passes(PATH, _trial, SLOWER)
