"""A stand-in for a device without float64: the CPU under another name, whose tensors refuse that type.

It registers a backend with torch for the whole process, so tests use it in processes of their own (`on_standin.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend

from normbench_cli.device import clock, generators, memory, precision

NAME = "standin"


class OnStandin(Tensor):
    """A tensor of the device, which holds one of the CPU."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> OnStandin:
        if held.dtype in (torch.float64, torch.complex128):
            raise TypeError(f"{NAME} has no float64")
        own: OnStandin = torch.Tensor._make_wrapper_subclass(
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=torch.device(NAME, 0),
        )
        own.held = held
        return own

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # torch declares it without its first argument
        cls, operator: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return computed(operator, args, kwargs or {})

    def tolist(self) -> Any:
        return self.held.tolist()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.held.__reduce_ex__(protocol)

    def untyped_storage(self) -> torch.UntypedStorage:
        return self.held.untyped_storage()


class Everywhere(TorchDispatchMode):
    """Sees the operators that make tensors from nothing."""

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return computed(operator, args, kwargs or {})


class Constants(TorchFunctionMode):
    """`torch.tensor` goes by no operator that a dispatch mode sees."""

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        options = dict(kwargs or {})
        there = function is torch.tensor and torch.device(options.get("device") or "cpu").type == NAME
        if not there:
            return function(*args, **options)
        return function(*args, **{**options, "device": "cpu"}).to(NAME)


def computed(operator: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The operator on what the tensors hold.  Its results are the device's, unless it copies them to another."""
    leaves = [leaf for leaf in pytree.tree_leaves((args, dict(kwargs))) if isinstance(leaf, OnStandin)]
    given = kwargs.get("device")
    there = bool(leaves) if given is None else torch.device(given).type == NAME
    on_cpu = {**kwargs} if given is None else {**kwargs, "device": torch.device("cpu")}
    plain_args, plain_kwargs = pytree.tree_map(lambda x: x.held if isinstance(x, OnStandin) else x, (args, on_cpu))
    known = {id(leaf.held): leaf for leaf in leaves}

    def back(result: Any) -> Any:
        if not isinstance(result, Tensor):
            return result
        if id(result) in known:  # changed in place
            return known[id(result)]
        return OnStandin(result) if there else result

    return pytree.tree_map(back, operator(*plain_args, **plain_kwargs))


class Backend(_DummyBackendModule):
    """What torch and normbench ask the module of a device for."""

    def get_rng_state(self, device: Any = None) -> Tensor:
        return torch.zeros(1, dtype=torch.uint8)

    def set_rng_state(self, state: Tensor, device: Any = None) -> None: ...

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16]

    def get_device_properties(self, device: Any = None) -> str:
        return NAME


@contextmanager
def standin() -> Iterator[torch.device]:
    """In this block there is the device.  Clock, memory and generators are those of the CPU."""
    _setup_privateuseone_for_python_backend(NAME, backend_module=Backend())
    precision.WITHOUT_FLOAT64.add(NAME)
    for part in (clock, generators, memory):
        vars(part)["on_accelerator"] = lambda device: False
    with Constants(), Everywhere():  # type: ignore[no-untyped-call]
        yield torch.device(NAME)
