"""In which precision a device computes: mixed precision."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from normbench_cli.device.choose import on_accelerator

AMP_TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def autocast(device: torch.device, amp: str) -> AbstractContextManager[Any]:
    """Mixed precision for the forward pass, or nothing for ``off``."""
    return nullcontext() if amp == "off" else torch.autocast(device.type, AMP_TYPES[amp])


def fast_precision(device: torch.device) -> str:
    """The mixed precision in which this device is faster than in float32; ``off`` if there is none."""
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16"
    if on_accelerator(device):
        return "bf16"
    has: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return "bf16" if has.get("amx_bf16") or has.get("avx512_bf16") or has.get("bf16") else "off"


def gradient_scaler(device: torch.device, amp: str) -> torch.amp.GradScaler:
    """Scales the loss for fp16, whose small gradients would vanish; does nothing for anything else."""
    return torch.amp.GradScaler(device.type, enabled=amp == "fp16")
