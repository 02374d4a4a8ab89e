"""Compiles the C++ of this folder, if there is a compiler, once per machine, and loads it.

The library is named by a hash of everything it depends on: sources, compiler, flags and processor.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from normbench_cli import fast_paths, paths

PATH = "C++ kernels of norm layers"
SLOWER = "norm layers with a robust center run slower"
FLAGS = ["-std=c++17", "-O3", "-shared", "-fPIC", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-w"]
FOR_THIS_MACHINE: tuple[list[str], ...] = (
    ["-march=native", "-fopenmp"],
    ["-mcpu=native", "-fopenmp"],
    ["-march=native"],
    [],
)  # the first that works
SECONDS = 300  # time limit for compiling


def compiler() -> list[str] | None:
    """The command: CXX, which may be several words as in `ccache g++`, or the first compiler found."""
    chosen = os.environ.get("CXX", "").split()
    for program, *arguments in filter(None, (chosen, ["c++"], ["g++"], ["clang++"])):
        path = shutil.which(program)
        if path is not None:
            return [path, *arguments]
    return None


@cache
def library() -> ctypes.CDLL | None:
    """The kernels; None if there is no compiler, or it fails."""
    loaded: list[ctypes.CDLL] = []
    command = compiler()
    if command is None or not fast_paths.passes(PATH, lambda: loaded.append(_load(command)), SLOWER):
        return None
    return loaded[0]


def _load(command: list[str]) -> ctypes.CDLL:
    kernels = ctypes.CDLL(str(_compiled(command)))
    pointer, whole, real = ctypes.c_void_p, ctypes.c_int, ctypes.c_double
    shape = [ctypes.c_int64] * 3
    names = "forward", "backward", "standardize", "graphs_forward", "graphs_backward"
    forward, backward, standardize, of_graphs, gradient_of_graphs = (getattr(kernels, f"normbench_{n}") for n in names)
    forward.argtypes = shape + [whole] * 3 + [pointer] * 9 + [real] * 2 + [pointer] * 3 + [whole]
    forward.restype = ctypes.c_int64
    backward.argtypes = shape + [whole] * 4 + [pointer] * 9 + [whole]
    backward.restype = None
    standardize.argtypes = [*shape, whole] + [pointer] * 5 + [real] * 2 + [pointer, whole]
    standardize.restype = None
    of_graphs.argtypes = shape[:2] + [pointer, whole] + [pointer] * 3 + [real] * 2 + [pointer] * 2 + [whole]
    of_graphs.restype = whole
    gradient_of_graphs.argtypes = shape[:2] + [pointer] + [whole] * 2 + [pointer] * 6 + [whole]
    gradient_of_graphs.restype = None
    return kernels


def _compiled(command: list[str]) -> Path:
    """The library's file, compiled if it does not exist yet."""
    sources = sorted(Path(__file__).parent.glob("*.[ch]*"))
    compiled_by = " ".join(command), version(command), FLAGS, FOR_THIS_MACHINE
    facts = [*(path.read_bytes() for path in sources), *compiled_by, processor()]
    name = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    file = paths.kernels() / f"norms-{name}.so"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=file.parent) as folder:  # two processes may compile at once
            _compile(command, Path(folder, file.name))
            Path(folder, file.name).replace(file)
    return file


def _compile(command: list[str], target: Path) -> None:
    sources = sorted(map(str, Path(__file__).parent.glob("*.cpp")))
    for flags in FOR_THIS_MACHINE:
        arguments = [*command, *FLAGS, *flags, *sources, "-o", str(target)]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=SECONDS)
        if done.returncode == 0:
            return
    lines = done.stderr.splitlines()
    raise RuntimeError(next((line for line in lines if "error" in line), f"{command[0]} failed"))


def version(command: list[str]) -> str:
    return subprocess.run([*command, "--version"], capture_output=True, text=True).stdout


def processor() -> str:
    """What `-march=native` depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.machine())


def try_fast_paths() -> None:
    library()
