"""Mutation tests: a seeded sample of small faults, and how many of them some test notices.

    python -m tests.mutation --sample 300 --seed 0

cosmic-ray makes the faults: another operator, another constant, a negated condition, a loop that never runs, a missing
decorator.  A coverage run tells which tests execute which line; a fault is tried against those tests, nearest and
fastest first, until one fails.  Each try is a fork of a process that has imported torch already.  Faults that change
nothing but annotations are left out.  The result is a table by room, and every survivor with its diff.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.mutation.coverage_map import load_map, tests_for
from tests.mutation.faults import ROOT, Mutant, choose, mutate

PRELOADED = ("torch", "pandas", "scipy.stats", "sqlalchemy.orm", "alembic", "sklearn", "typer", "rich.table")
CONTROLS = 6
TIMEOUT = 240.0
copy = ROOT  # in a worker: its own copy


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--map", type=Path, default=None, help="keep the coverage map here, or take it from here")
    parser.add_argument("--only", default="", help="only files whose path holds this text")
    parser.add_argument("--out", type=Path, default=None, help="write the results as JSON")
    options = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(prefix="mutants-kernels-")
    tests = load_map(options.map)
    mutants = choose(options.sample, options.seed, options.only)
    try_all(mutants, tests, options.jobs)
    report(mutants)
    if options.out:
        options.out.write_text(json.dumps([asdict(mutant) for mutant in mutants], indent=1))
    return 0


def try_all(mutants: list[Mutant], tests: dict[str, Any], jobs: int) -> None:
    for name in PRELOADED:
        importlib.import_module(name)
    done = Counter[str]()
    work = [(index, mutant, tests_for(mutant, tests)) for index, mutant in enumerate(mutants)]
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as folder,
        ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), make_copy, (folder,)) as pool,
    ):
        if "noticed" in pool.map(try_without_fault, [chosen for _, _, chosen in work if chosen][:CONTROLS]):
            sys.exit("tests fail without any fault: the result would mean nothing")
        for index, mutant in map(Future.result, as_completed([pool.submit(try_one, one) for one in work])):
            mutants[index] = mutant
            done[mutant.outcome] += 1
            if mutant.outcome != "noticed" or sum(done.values()) % 20 == 0:
                line = f"{sum(done.values())}/{len(mutants)} {dict(done)} {mutant.path}:{mutant.line} {mutant.diff}"
                print(line, flush=True)


def make_copy(folder: str) -> None:
    """Each worker changes a copy of the project of its own."""
    global copy
    copy = Path(folder) / str(os.getpid())
    ignored = shutil.ignore_patterns("__pycache__", ".git", ".venv", "*.egg-info", ".*_cache")
    shutil.copytree(ROOT, copy, ignore=ignored)


def try_without_fault(tests: list[str]) -> str:
    return run(tests)


def try_one(work: tuple[int, Mutant, list[str]]) -> tuple[int, Mutant]:
    index, mutant, tests = work
    mutant.tests = len(tests)
    text, target = mutate(mutant), copy / mutant.path
    assert text is not None
    original = target.read_text()
    began = time.monotonic()
    try:
        target.write_text(text)
        mutant.outcome = run(tests) if tests else "not covered"
    finally:
        target.write_text(original)
    mutant.seconds = round(time.monotonic() - began, 1)
    return index, mutant


def run(tests: list[str]) -> str:
    """The tests in a fork: a fault is noticed by a failing test, by an error or by never ending."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = run_pytest(tests)
        finally:
            os._exit(code)
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return "survived" if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0 else "noticed"
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


def run_pytest(tests: list[str]) -> int:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.chdir(copy)
    os.environ["PYTHONPATH"] = str(copy)
    sys.path.insert(0, str(copy))
    sys.dont_write_bytecode = True
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    import pytest

    return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:cov", "-m", "not benchmark", *tests]))


def report(mutants: list[Mutant]) -> None:
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant in mutants:
        for room in (Path(mutant.path).parts[1], "all"):
            rooms[room][mutant.outcome] += 1
    for room, counts in sorted(rooms.items()):
        total = sum(counts.values())
        noticed = counts["noticed"] + counts["timeout"]
        print(f"{room:12} {noticed:4} of {total:4} noticed ({noticed / total:.0%})  {dict(counts)}")
    for mutant in mutants:
        if mutant.outcome != "noticed":
            print(f"\n{mutant.outcome}: {mutant.path}:{mutant.line} {mutant.operator} ({mutant.tests} tests)")
            print("\n".join(mutant.diff))


if __name__ == "__main__":
    sys.exit(main())
