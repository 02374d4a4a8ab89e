"""The state of torch's random generators."""

from __future__ import annotations

import torch

from normbench_cli.device.choose import on_accelerator


def random_state(device: torch.device) -> dict[str, torch.Tensor]:
    """The state of torch's global random generators."""
    state = {"cpu": torch.get_rng_state()}
    if on_accelerator(device):
        state["accelerator"] = torch.get_device_module(device).get_rng_state(device)
    return state


def set_random_state(device: torch.device, state: dict[str, torch.Tensor]) -> None:
    torch.set_rng_state(state["cpu"].cpu())
    if on_accelerator(device) and "accelerator" in state:
        torch.get_device_module(device).set_rng_state(state["accelerator"].cpu(), device)
