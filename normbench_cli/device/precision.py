"""The precision of a device: mixed precision, and float64, which not every device supports."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from normbench_cli.device.choose import on_accelerator

AMP_TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
WITHOUT_FLOAT64 = {"mps"}  # Apple's GPUs


def autocast(device: torch.device, amp: str) -> AbstractContextManager[Any]:
    """Mixed precision for the forward pass; no effect for ``off``."""
    return nullcontext() if amp == "off" else torch.autocast(device.type, AMP_TYPES[amp])


def fast_precision(device: torch.device) -> str:
    """The mixed precision that is faster than float32 on this device; ``off`` if there is none."""
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16"
    if on_accelerator(device):
        return "bf16"
    has: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return "bf16" if has.get("amx_bf16") or has.get("avx512_bf16") or has.get("bf16") else "off"


def gradient_scaler(device: torch.device, amp: str) -> torch.amp.GradScaler:
    """A loss scaler for fp16, whose small gradients would underflow; disabled otherwise."""
    return torch.amp.GradScaler(device.type, enabled=amp == "fp16")


def has_float64(device: torch.device) -> bool:
    """Whether the device supports float64; some of Intel's GPUs do not either."""
    if device.type == "xpu":
        return bool(getattr(torch.xpu.get_device_properties(device), "has_fp64", True))
    return device.type not in WITHOUT_FLOAT64


def in_float64(x: Tensor) -> Tensor:
    """The tensor in float64; on the CPU if its device has none."""
    return x.double() if has_float64(x.device) else x.cpu().double()


def back_from_float64(x: Tensor, device: torch.device) -> Tensor:
    """Move a result of `in_float64` back to the input's device, as float32 if the device has no float64."""
    return x if has_float64(device) else x.to(device, torch.float32 if x.dtype == torch.float64 else x.dtype)
