"""The interface of external components: checked before use, and named in the message if violated."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MODULE = "torch.nn.Module"
DEFINED_AS = {MODULE: "torch.nn.modules.module.Module"}  # public name -> where the base class is defined


@dataclass(frozen=True)
class Contract:
    """What is accepted as a component of one kind.

    base: full name of the class that classes must inherit from (a name, so that the check imports nothing); empty: any.
    function_of: the parameters that a function must have; None if functions are not accepted.
    bound: a function is the component itself and not a factory, so building it only binds its other parameters.
    """

    base: str = ""
    function_of: tuple[str, ...] | None = None
    bound: bool = False

    def accepts(self, component: object) -> bool:
        if isinstance(component, type):
            ancestors = {f"{ancestor.__module__}.{ancestor.__qualname__}" for ancestor in component.__mro__}
            return not self.base or DEFINED_AS.get(self.base, self.base) in ancestors
        if self.function_of is None or not callable(component):
            return False
        return set(self.function_of) <= parameter_names(component)

    def __str__(self) -> str:
        forms = [f"a class made from {self.base}" if self.base else "a class"]
        if self.function_of is not None:
            forms.append(f"a function of {', '.join(self.function_of)}" if self.function_of else "a function")
        return " or ".join(forms)


def parameter_names(function: Callable[..., Any]) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some built-in functions have no signature
        return set()
