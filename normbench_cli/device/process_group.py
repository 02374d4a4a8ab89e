"""Joining the processes of data-parallel training: how they communicate, and the device of each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from normbench_cli.device.choose import on_accelerator, pick_device
from normbench_cli.errors import UsageError

BACKENDS = {"cuda": "nccl", "xpu": "xccl"}  # for tensors on an accelerator
PATIENCE = timedelta(hours=2)  # how long the others wait while rank 0 scores or saves


def backend() -> str:
    """gloo for CPU tensors, and the accelerator's own backend for its tensors."""
    device = pick_device()
    return f"cpu:gloo,{device.type}:{BACKENDS[device.type]}" if device.type in BACKENDS else "gloo"


def rendezvous_store(port: int = 0) -> Any:
    """The rendezvous of this machine's processes, a torch.distributed `Store`; port 0 creates it on a free port."""
    store: Any = vars(dist)["TCPStore"]  # missing from torch's type annotations
    return store("127.0.0.1", port, is_master=port == 0, wait_for_workers=False)


@contextmanager
def process_group(rank: int, size: int, store: Any = None) -> Iterator[None]:
    """Join the process group within the block.  store: the rendezvous; None: that of torchrun's variables."""
    dist.init_process_group(backend(), rank=rank, world_size=size, store=store, timeout=PATIENCE)
    try:
        yield
    finally:
        leave()


def leave() -> None:
    """Close the connections to the other processes, so that they cannot wait for this one."""
    if dist.is_initialized():
        dist.destroy_process_group()


def is_lost_connection(error: BaseException) -> bool:
    """Whether an error means that another process can no longer be reached."""
    words = ("gloo", "nccl", "connection", "store", "socket")
    return isinstance(error, dist.DistError) or (
        isinstance(error, RuntimeError) and any(word in str(error).lower() for word in words)
    )


def device_of_process(text: str, local_rank: int) -> torch.device:
    """The device of the process with this local rank: its own accelerator, or the CPU."""
    device = pick_device(text)
    if not on_accelerator(device):
        return device
    own = pick_device(f"{device.type}:{local_rank}")
    torch.accelerator.set_device_index(local_rank)
    return own


def check_devices(text: str, processes: int) -> None:
    """Raise an error unless each of the processes of a machine can have a device."""
    device = pick_device(text)
    if not on_accelerator(device):
        return
    if device.index is not None:
        raise UsageError(f"nproc is {processes}, and device '{text}' is a single one", f"give --device {device.type}")
    if (count := torch.accelerator.device_count()) < processes:
        raise UsageError(
            f"nproc is {processes}, and this machine has {count} device(s) of the kind {device.type}",
            f"give --nproc {count} or --device cpu" if count > 1 else "drop --nproc, or give --device cpu",
        )
