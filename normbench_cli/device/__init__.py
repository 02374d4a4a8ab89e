"""Everything that depends on the device.  No file outside this package names a kind of accelerator.

    choose.py      choosing a device by its name, and describing it
    precision.py   mixed precision and float64
    compilers.py   whether torch.compile pays off and is available; which library's matrix products are fastest
    flags.py       torch's device settings, set for a run and restored afterwards
    nvidia_smi.py  clocks, power limit and other processes, as reported by nvidia-smi
    clock.py       the device's own clock
    memory.py      total and used memory
    generators.py  the state of torch's random generators
    shares.py      dividing a machine among processes
    process_group.py   joining the processes of data-parallel training

Other packages import the names below from here.
"""

from __future__ import annotations

from normbench_cli.device.choose import (
    device_name,
    driver_version,
    has_accelerator,
    has_fused_optimizers,
    on_accelerator,
    pick_device,
    pins_memory,
)
from normbench_cli.device.clock import Stopwatch, synchronize
from normbench_cli.device.compilers import compiling_pays, has_compiler, onednn_is_faster
from normbench_cli.device.flags import (
    OVERRIDE,
    Flags,
    flag_facts,
    matmul_precision,
    naming_what_is_not_deterministic,
    takes_flags,
    torch_flags,
)
from normbench_cli.device.generators import random_state, set_random_state
from normbench_cli.device.memory import allocated_bytes, memory_bytes, peak_memory_bytes, reset_peak_memory
from normbench_cli.device.nvidia_smi import GpuState, busy_gpu, gpu_state, limits
from normbench_cli.device.precision import (
    AMP_TYPES,
    autocast,
    back_from_float64,
    fast_precision,
    gradient_scaler,
    has_float64,
    in_float64,
)
from normbench_cli.device.process_group import (
    check_devices,
    device_of_process,
    is_lost_connection,
    leave,
    process_group,
    rendezvous_store,
)
from normbench_cli.device.shares import accelerator_shares, core_share, usable_cores

__all__ = [
    "AMP_TYPES",
    "OVERRIDE",
    "Flags",
    "GpuState",
    "Stopwatch",
    "accelerator_shares",
    "allocated_bytes",
    "autocast",
    "back_from_float64",
    "busy_gpu",
    "check_devices",
    "compiling_pays",
    "core_share",
    "device_name",
    "device_of_process",
    "driver_version",
    "fast_precision",
    "flag_facts",
    "gpu_state",
    "gradient_scaler",
    "has_accelerator",
    "has_compiler",
    "has_float64",
    "has_fused_optimizers",
    "in_float64",
    "is_lost_connection",
    "leave",
    "limits",
    "matmul_precision",
    "memory_bytes",
    "naming_what_is_not_deterministic",
    "on_accelerator",
    "onednn_is_faster",
    "peak_memory_bytes",
    "pick_device",
    "pins_memory",
    "process_group",
    "random_state",
    "rendezvous_store",
    "reset_peak_memory",
    "set_random_state",
    "synchronize",
    "takes_flags",
    "torch_flags",
    "usable_cores",
]
