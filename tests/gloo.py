"""Work done by several real processes that are joined by gloo."""

from __future__ import annotations

import multiprocessing
import pickle
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

FORK: Any = multiprocessing.get_context("fork")
SECONDS = 300  # after which the processes hang


def run_processes(size: int, work: Callable[..., Any], *args: Any) -> list[Any]:
    """What ``work(rank, size, *args)`` gives in each of the processes."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about forking with threads, which are idle
        pipes = [FORK.Pipe(duplex=False) for _ in range(size)]
        processes = [
            FORK.Process(target=run, args=(rank, size, str(Path(folder) / "store"), pipes[rank][1], work, args))
            for rank in range(size)
        ]
        for process in processes:
            process.start()
        try:
            answers = [
                pickle.loads(pipe.recv_bytes()) if pipe.poll(SECONDS) else (None, "no answer") for pipe, _ in pipes
            ]
        finally:
            for process in processes:
                process.join(1)
                process.kill()
                process.join()
    errors = [error for _, error in answers if error]
    assert not errors, errors[0]
    return [result for result, _ in answers]


def run(rank: int, size: int, store: str, answers: Any, work: Callable[..., Any], args: Any) -> None:
    """In one of the processes."""
    torch.set_num_threads(1)  # a pool of threads does not survive a fork
    try:
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
        answers.send_bytes(pickle.dumps((work(rank, size, *args), "")))
        dist.barrier()
    except BaseException:
        answers.send_bytes(pickle.dumps((None, traceback.format_exc())))
