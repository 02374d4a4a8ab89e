"""torch's device settings: TensorFloat-32, cuDNN benchmarking, determinism.

They are process-wide, so they are set for a run and restored afterwards.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from normbench_cli.errors import NormbenchError, UsageError, first_sentence

WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
REPEATABLE_WORKSPACES = (":4096:8", ":16:8")  # with which cuBLAS is deterministic
OVERRIDE = "NVIDIA_TF32_OVERRIDE"  # 0: NVIDIA's libraries compute without TF32, whatever torch asks for


@dataclass(frozen=True)
class Flags:
    """tf32: off, conv (in convolutions, torch's own default) or all (in matrix products too).  cudnn_benchmark: time
    the algorithms of a convolution for each new shape and use the fastest.  deterministic: reject operations that are
    not."""

    tf32: str = "conv"
    cudnn_benchmark: bool = False
    deterministic: bool = False


def takes_flags(device: torch.device) -> bool:
    """Whether the device supports TF32, cuDNN and CUDA graphs."""
    return device.type == "cuda"


@contextmanager
def torch_flags(flags: Flags, device: torch.device) -> Iterator[None]:
    """Within the block, torch computes as the flags say; then its settings are restored, also after an error."""
    with ExitStack() as restored:
        if takes_flags(device):
            restored.enter_context(_tensor_float_32(flags.tf32))
            restored.enter_context(_cudnn(flags))
        if flags.deterministic:
            restored.enter_context(_deterministic(device))
        yield


@contextmanager
def _tensor_float_32(where: str) -> Iterator[None]:
    """Set TF32 by the two older switches, which no release of torch 2.9 to 2.13 considers inconsistent: setting only
    the newer `fp32_precision` of an operation makes torch's own readers of the older ones fail."""
    mkldnn: Any = torch.backends.mkldnn
    cudnn: Any = torch.backends.cudnn
    backends = (torch.backends.cuda.matmul, mkldnn.matmul, cudnn.conv, cudnn.rnn)
    products, convolutions = _older_switches()
    newer = [backend.fp32_precision for backend in backends]
    try:
        with _unadvised():
            torch.set_float32_matmul_precision("high" if where == "all" else "highest")
            torch.backends.cudnn.allow_tf32 = where != "off"
        yield
    finally:
        with _unadvised():
            torch.set_float32_matmul_precision(products)
            torch.backends.cudnn.allow_tf32 = convolutions
        for backend, precision in zip(backends, newer, strict=True):
            backend.fp32_precision = precision


def matmul_precision() -> str:
    """torch's name of it: highest, high or medium.  torch's own reader fails if only the newer switches were set."""
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:
        return "high" if torch.backends.cuda.matmul.fp32_precision == "tf32" else "highest"


def _older_switches() -> tuple[str, bool]:
    """If only the newer switches were set, these cannot be read and have their defaults."""
    with _unadvised():
        try:
            products = torch.get_float32_matmul_precision()
        except RuntimeError:
            products = "highest"
        try:
            return products, bool(torch.backends.cudnn.allow_tf32)
        except RuntimeError:
            return products, True


@contextmanager
def _unadvised() -> Iterator[None]:
    """Suppress the advice of some torch releases, on first use of the older switches, to use the newer ones."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Please use the new API", UserWarning)
        yield


@contextmanager
def _cudnn(flags: Flags) -> Iterator[None]:
    cudnn = torch.backends.cudnn
    before = cudnn.benchmark, cudnn.deterministic
    try:
        cudnn.benchmark, cudnn.deterministic = flags.cudnn_benchmark, flags.deterministic
        yield
    finally:
        cudnn.benchmark, cudnn.deterministic = before


@contextmanager
def _deterministic(device: torch.device) -> Iterator[None]:
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    workspace = os.environ.get(WORKSPACE)
    try:
        torch.use_deterministic_algorithms(True)
        if takes_flags(device):
            if workspace not in REPEATABLE_WORKSPACES:
                os.environ[WORKSPACE] = REPEATABLE_WORKSPACES[0]
            _try_product(device)
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        if workspace is None:
            os.environ.pop(WORKSPACE, None)
        else:
            os.environ[WORKSPACE] = workspace


def _try_product(device: torch.device) -> None:
    """Test a matrix product: cuBLAS reads its workspace setting once per process, so it may be too late to set it."""
    try:
        multiply(device)
    except RuntimeError as error:
        if WORKSPACE not in str(error):
            raise
        raise UsageError(
            "this process has computed without --deterministic before, and cuBLAS keeps that",
            f"set {WORKSPACE}={REPEATABLE_WORKSPACES[0]} and start again",
        ) from error


def multiply(device: torch.device) -> None:
    x = torch.ones(2, 2, device=device)
    x @ x


@contextmanager
def naming_what_is_not_deterministic() -> Iterator[None]:
    """Within the block, torch's rejection of a nondeterministic operation becomes a one-line error."""
    try:
        yield
    except RuntimeError as error:
        operation, says, _ = str(error).partition(" does not have a deterministic implementation")
        if not says:
            raise
        raise NormbenchError(
            f"{first_sentence(RuntimeError(operation))} cannot be deterministic on this device",
            "drop --deterministic, or use a component without this operation",
        ) from error


def flag_facts(device: torch.device) -> dict[str, Any]:
    """torch's current settings for the device, as torch reports them; empty if it supports none of them."""
    if not takes_flags(device):
        return {}
    cudnn: Any = torch.backends.cudnn
    facts = {
        "tf32_matmul": torch.backends.cuda.matmul.fp32_precision == "tf32",
        "tf32_conv": cudnn.conv.fp32_precision == "tf32",
        "cudnn_benchmark": cudnn.benchmark,
        "cudnn_deterministic": cudnn.deterministic,
    }
    return facts | {name: os.environ[name] for name in (OVERRIDE, WORKSPACE) if name in os.environ}
