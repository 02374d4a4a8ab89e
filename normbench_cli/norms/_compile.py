"""Running a function of tensors as one compiled kernel where that pays, and as it is written where it doesn't.

The function is traced once for each set of shapes and given to inductor, the compiler behind torch.compile, which keeps
its results on disk for the next process.  Going to inductor directly saves the guards, which cost as much as a small
layer.  Whether a shape is compiled depends on the shape alone, never on what came before: a training that is resumed
repeats every bit.  Without a compiler the same function runs as plain PyTorch.

Where the number of rows changes from call to call, as with batches of graphs, one kernel is made for any number of
rows of a matrix: the caller says so with `rows_vary`.

``NORMBENCH_COMPILE``: auto (default), always, never.
"""

from __future__ import annotations

import logging
import os
import subprocess
import threading
import warnings
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

LARGE = 2**20  # elements; below, starting a compiler costs more than it will save
LARGE_MATRIX = 40_000  # the same for a kernel that is made once for all numbers of rows
TRACED_ROWS = 1025  # odd, so that nothing is split into blocks of rows, and above every size that is treated specially

log = logging.getLogger(__name__)


def is_concrete(x: Tensor) -> bool:
    """A real tensor with data, outside any tracing: one may look at values and start a compiler."""
    return type(x) in (Tensor, torch.nn.Parameter) and x.device.type != "meta" and not torch.compiler.is_compiling()


def reads_without_sync(x: Tensor) -> bool:
    """On a CPU reading a value costs nothing; on an accelerator it waits for the device."""
    return is_concrete(x) and x.device.type == "cpu"


def worth_compiling(x: Tensor, dynamic_rows: bool = False) -> bool:
    """Whether a function of this tensor is compiled: it depends on the shape alone, as long as the compiler works."""
    policy = os.environ.get("NORMBENCH_COMPILE", "auto")
    if policy == "never" or InductorKernel.broken:
        return False
    return policy == "always" or x.numel() >= (LARGE_MATRIX if dynamic_rows and x.ndim == 2 else LARGE)


class InductorKernel:
    """``f(*tensors, **options)`` with f compiled for each (first tensor, options); options are hashable constants."""

    lock = threading.Lock()  # one compilation at a time: models may be trained side by side
    broken = False  # one failure of the compiler is enough: it is missing, or does not work here

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.compiled: dict[Hashable, Callable[..., Any]] = {}

    def __call__(self, *tensors: Tensor | None, dynamic_rows: bool = False, **options: Hashable) -> Any:
        first = tensors[0]
        assert first is not None
        if not is_concrete(first) or not worth_compiling(first, dynamic_rows):
            return self.function(*tensors, **options)
        any_rows = dynamic_rows and first.ndim == 2
        key = (
            first.shape[1:] if any_rows else first.shape,
            any_rows,
            first.dtype,
            first.device,
            tuple(None if t is None else t.dtype for t in tensors),
            tuple(options.values()),
            torch.get_num_threads(),
        )
        ready = self.compiled.get(key)
        if ready is None:
            with InductorKernel.lock:
                ready = self.compiled.get(key)
                if ready is None:
                    ready = self.compiled[key] = self._compile(tensors, options, any_rows)
        return ready(*tensors)

    def _compile(
        self, tensors: Sequence[Tensor | None], options: dict[str, Hashable], any_rows: bool
    ) -> Callable[..., Any]:
        present = [t is not None for t in tensors]

        def spread_out(given: Sequence[Tensor]) -> list[Tensor | None]:
            rest = iter(given)
            return [next(rest) if there else None for there in present]

        def plain(*given: Tensor) -> Any:
            return self.function(*spread_out(given), **options)

        given: list[Any] = [t.detach() for t in tensors if t is not None]
        try:
            from torch._inductor import config

            with warnings.catch_warnings(), torch.no_grad(), config.patch(_settings()):
                warnings.simplefilter("ignore")
                run = _compiled(plain, given, any_rows)
        except Exception as error:
            InductorKernel.broken = True
            log.warning("norm layers run uncompiled: %s", str(error).partition("\n")[0])
            return lambda *all_of_them: self.function(*all_of_them, **options)
        if all(present):
            return run
        return lambda *all_of_them: run(*(t for t in all_of_them if t is not None))


def _compiled(function: Callable[..., Any], given: Sequence[Tensor], any_rows: bool) -> Callable[..., Any]:
    from torch._inductor import compile as inductor
    from torch.fx.experimental.proxy_tensor import make_fx

    if any_rows:
        run = _for_any_rows(function, given)
    else:
        run = inductor(make_fx(function, tracing_mode="fake")(*given), list(given))
    run(*given)  # the first call may still find the C++ compiler missing
    return run


@cache
def _settings() -> dict[str, Any]:
    """Inductor compiles a test program for each kind of vector instructions that the processor has, which takes longer
    than all our kernels together.  That the C++ compiler knows their names is as good, and it says so at once."""
    from torch._inductor import config, cpu_vec_isa
    from torch._inductor.cpp_builder import get_cpp_compiler

    if config.cpp.vec_isa_ok is not None:  # the user has decided
        return {}
    try:
        here = cpu_vec_isa.x86_isa_checker()
        kinds = [kind for kind in cpu_vec_isa.supported_vec_isa_list if all(part in here for part in str(kind).split())]
        flags = [flag for kind in kinds for flag in kind.build_arch_flags().split()]
        command = [get_cpp_compiler(), *flags, "-E", "-x", "c++", os.devnull]
        known = bool(flags) and subprocess.run(command, capture_output=True).returncode == 0
    except Exception as error:  # another processor, compiler or torch: inductor's own way is slower, and always right
        log.debug("inductor tests the vector instructions itself: %s", error)
        known = False
    return {"cpp.vec_isa_ok": True} if known else {}


def _for_any_rows(function: Callable[..., Any], given: Sequence[Tensor]) -> Callable[..., Any]:
    """The function compiled with the number of rows of its first tensor, and of all of that shape, left open."""
    from torch._dynamo.source import ConstantSource
    from torch._guards import TracingContext, tracing
    from torch._inductor.compile_fx import compile_fx
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

    mode = FakeTensorMode(shape_env=ShapeEnv())
    stand_ins = []
    for number, tensor in enumerate(given):
        is_open = tensor.shape == given[0].shape
        example = tensor.new_empty(TRACED_ROWS, *tensor.shape[1:]) if is_open else tensor
        sizes = [DimDynamic.STATIC] * tensor.ndim
        if is_open:
            sizes[0] = DimDynamic.DYNAMIC
        context: Any = StatelessSymbolicContext(dynamic_sizes=sizes)
        source = ConstantSource(f"tensor{number}")
        stand_ins.append(mode.from_tensor(example, symbolic_context=context, source=source))
    with mode:
        graph = make_fx(function, tracing_mode="real")(*stand_ins)
    with tracing(TracingContext(mode)):
        compiled: Any = compile_fx(graph, stand_ins)
    return compiled
