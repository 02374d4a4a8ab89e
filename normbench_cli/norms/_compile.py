"""Private parts of torch that make norm layers fast: the compiler inductor.

`InductorKernel` runs a function of tensors as one compiled kernel where that pays, and as plain PyTorch elsewhere.  The
function is traced once per set of shapes and compiled by inductor, the compiler behind torch.compile, which caches its
results on disk.  Calling inductor directly avoids the guards of torch.compile, which cost as much as a small layer.

Whether a shape is compiled depends on the shape alone, never on earlier calls, so resumed training is bit-identical.
Where the number of rows changes from call to call, as with batches of graphs, ``dynamic_rows=True`` makes one kernel
for any number of rows of a matrix, or with ``open_dims=2`` for any two leading dimensions of three.
"""

from __future__ import annotations

import multiprocessing
import os
import platform
import subprocess
import threading
import warnings
from collections.abc import Callable, Hashable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from normbench_cli import fast_paths
from normbench_cli.device import pick_device
from normbench_cli.norms._compile_policy import LARGE_MATRIX, is_concrete, path_of, should_compile

TRACED = (1025, 33)  # example sizes of open dimensions: odd, so nothing is split; rows above all special cases
MOST_KERNELS = 256  # per function; a network has about a dozen shapes
UNCOMPILED = "norm layers run uncompiled, slower"

Kernel = Callable[..., Any]  # returns what the compiled function returns


class InductorKernel:
    """``f(*tensors, **options)`` with f compiled for each (first tensor, options).

    The shape of the first tensor determines those of the others; options are hashable constants, always passed in the
    same order.  Kernels receive contiguous tensors.  With dynamic rows all dimensions but the last are open, if there
    are `open_dims` of them; of two, neither may be 1.  The size of `part_of`, if given, decides whether to compile.
    """

    lock = threading.Lock()  # one compilation at a time: models may be trained in several threads

    def __init__(self, function: Kernel, large_matrix: int = LARGE_MATRIX, open_dims: int = 1) -> None:
        self.function, self.large_matrix, self.open_dims = function, large_matrix, open_dims
        self.compiled: dict[Hashable, Kernel] = {}

    def __call__(
        self, *tensors: Tensor | None, dynamic_rows: bool = False, part_of: Tensor | None = None, **options: Hashable
    ) -> Any:
        first = tensors[0]
        assert first is not None
        open_dims = self.open_dims if dynamic_rows and first.ndim == self.open_dims + 1 else 0
        whole = first if part_of is None else part_of
        whole = whole.flatten(1) if open_dims else whole
        if not (is_concrete(first) and should_compile(whole, dynamic_rows, self.large_matrix)):
            return self.function(*tensors, **options)
        key = (
            first.shape[open_dims:],
            open_dims,
            first.dtype,
            first.device,
            tuple(None if t is None else t.dtype for t in tensors),
            tuple(options.values()),
            torch.get_num_threads(),
        )
        given = [t.contiguous() for t in tensors if t is not None]
        kernel = self.compiled.get(key)
        if kernel is None:
            with InductorKernel.lock:
                kernel = self.compiled.get(key) or self._compile(tensors, given, options, open_dims)
                if len(self.compiled) >= MOST_KERNELS:  # reloaded from the cache on disk if needed again
                    self.compiled.pop(next(iter(self.compiled)))
                self.compiled[key] = kernel
        return kernel(*given)

    def _compile(
        self, tensors: Sequence[Tensor | None], given: list[Tensor], options: dict[str, Hashable], open_dims: int
    ) -> Kernel:
        """Return the kernel for the given tensors, or the function itself if the compiler fails."""
        present = [t is not None for t in tensors]

        def function(*given: Tensor) -> Any:
            rest = iter(given)
            return self.function(*(next(rest) if there else None for there in present), **options)

        try:
            return _compiled(function, [t.detach() for t in given], open_dims)
        except Exception as error:
            fast_paths.fall_back(path_of(given[0].device, bool(open_dims)), UNCOMPILED, error)
            return function


def _compiled(function: Kernel, given: list[Tensor], open_dims: int) -> Kernel:
    """Compile and run: only a call reveals, for instance, that the C++ compiler is missing."""
    from torch._inductor import config

    keep_headers_in_cache()
    tag = cast(Any, torch.compiler.config).patch(cache_key_tag=_cache_tag())
    with warnings.catch_warnings(), torch.no_grad(), config.patch(_inductor_settings()), tag:
        warnings.simplefilter("ignore")
        kernel = _compiled_from_cache(function, given, open_dims)
        if not open_dims:
            kernel(*given)
            return kernel
        for rows in {len(given[0]), max(len(given[0]) - 1, 2)}:
            kernel(*(t[:rows].contiguous() if any(_open(t, given[0], open_dims)) else t for t in given))
        return kernel


def _open(tensor: Tensor, first: Tensor, open_dims: int) -> list[bool]:
    """Which dimensions of a tensor are open: rows, if shaped like the first; of three, the leading two unless 1."""
    if open_dims <= 1:
        return [dim < open_dims and tensor.shape == first.shape for dim in range(tensor.ndim)]
    return [dim < 2 and tensor.ndim == first.ndim and tensor.shape[dim] != 1 for dim in range(tensor.ndim)]


def _compiled_from_cache(function: Kernel, given: Sequence[Tensor], open_dims: int) -> Kernel:
    """Compile the function for the shapes of its tensors, except open dimensions, or load it from inductor's cache.

    `torch._inductor.compile` supports only fixed shapes and bypasses the cache, which needs a `ShapeEnv`.  So this does
    what dynamo does before it calls inductor.  It makes a fake tensor for each input, all in one `ShapeEnv`, with a
    symbol for each open dimension; a symbol needs a `Source` to name it.  It traces with these fake tensors.
    Tracing mode "real" uses its inputs unchanged; the other modes would wrap them in fake tensors again.  Then it calls
    `compile_fx` in a `TracingContext`, where inductor and its cache find the `ShapeEnv`.
    """
    from torch._dynamo.source import ConstantSource
    from torch._guards import TracingContext, tracing
    from torch._inductor.compile_fx import compile_fx
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

    mode = FakeTensorMode(shape_env=ShapeEnv())
    placeholders = []
    for number, tensor in enumerate(given):
        is_open = _open(tensor, given[0], open_dims)
        shape = [TRACED[dim] if is_open[dim] else size for dim, size in enumerate(tensor.shape)]
        example = tensor.new_empty(shape) if any(is_open) else tensor
        sizes = [DimDynamic.DYNAMIC if there else DimDynamic.STATIC for there in is_open]
        context: Any = StatelessSymbolicContext(dynamic_sizes=sizes)
        source = ConstantSource(f"tensor{number}")
        placeholders.append(mode.from_tensor(example, symbolic_context=context, source=source))
    with mode:
        # not the function itself: its return annotation would enter the graph as text, which the cache rejects
        graph = make_fx(lambda *tensors: function(*tensors), tracing_mode="real")(*placeholders)
    with tracing(TracingContext(mode)):
        return cast(Kernel, compile_fx(graph, placeholders))


def _cache_tag() -> str:
    """What inductor's cache does not always distinguish: processors that share a folder, and the number of threads that
    a kernel is compiled for."""
    return f"{torch.compiler.config.cache_key_tag} {torch.backends.cpu.get_cpu_capability()} {torch.get_num_threads()}"


def _inductor_settings() -> dict[str, Any]:
    settings: dict[str, Any] = {"cpp.enable_floating_point_contract_flag": "fast"}  # fused multiply-add
    if _compiler_knows_the_processor():
        settings["cpp.vec_isa_ok"] = True
    if multiprocessing.parent_process() is not None:  # inductor's workers belong to the parent: a forked child
        settings["compile_threads"] = 1  # would wait for them forever
    return settings


def keep_headers_in_cache() -> None:
    """Keep the compiler's precompiled headers beside inductor's other files, in the folder of
    `paths.set_compile_cache`; by default they go to the system's temporary directory."""
    path = "inductor's folder of headers"
    if fast_paths.failed(path):
        return
    try:
        from torch._inductor import codecache
        from torch._inductor.runtime.cache_dir_utils import cache_dir

        folder = Path(cache_dir(), "precompiled_headers")
        codecache._HEADER_DIR, codecache._HEADER_LOCK_DIR = str(folder), str(folder / "locks")
    except Exception as error:
        fast_paths.fall_back(path, "precompiled headers go to the folder for temporary files", error)


@cache
def _compiler_knows_the_processor() -> bool:
    """Whether the C++ compiler accepts the flags of this processor's vector instructions, which is quick to check.

    Otherwise inductor compiles a test program for each instruction set, which takes longer than all kernels together.
    """
    try:
        from torch._inductor import config, cpu_vec_isa
        from torch._inductor.cpp_builder import get_cpp_compiler

        if config.cpp.vec_isa_ok is not None or platform.machine() not in ("x86_64", "AMD64"):
            return False  # the user has decided, or there is nothing to check
        has = cpu_vec_isa.x86_isa_checker()
        kinds = [kind for kind in cpu_vec_isa.supported_vec_isa_list if all(part in has for part in str(kind).split())]
        flags = [flag for kind in kinds for flag in kind.build_arch_flags().split()]
    except Exception as error:
        fast_paths.fall_back("inductor's list of vector instructions", "inductor tests them itself, slower", error)
        return False
    try:
        command = [get_cpp_compiler(), *flags, "-E", "-x", "c++", os.devnull]
        return bool(flags) and subprocess.run(command, capture_output=True).returncode == 0
    except Exception:  # no compiler: inductor reports that
        return False


def try_fast_paths() -> None:
    """Try each fast path of this file once, on the CPU and on the accelerator if there is one."""
    for device in dict.fromkeys((torch.device("cpu"), pick_device())):
        for open_rows in (False, True) if os.environ.get("NORMBENCH_COMPILE") != "never" else ():
            fast_paths.passes(path_of(device, open_rows), partial(_try_inductor, device, open_rows), UNCOMPILED)


def _try_inductor(device: torch.device, open_rows: bool) -> None:
    def function(x: Tensor) -> Tensor:
        return (x - x.sum(0) / x.shape[0]).exp()

    x = torch.linspace(-1, 1, 48, device=device).view(12, 4)
    kernel = _compiled(function, [x], int(open_rows))
    for rows in (12, 7) if open_rows else (12,):
        if not torch.allclose(kernel(x[:rows]), function(x[:rows])):
            raise ValueError("wrong values")
