"""What a component from outside must be: checked before it is used, and named in the message when it is not."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MODULE = "torch.nn.Module"
DEFINED_AS = {MODULE: "torch.nn.modules.module.Module"}  # where a base class that is known by another name is defined


@dataclass(frozen=True)
class Contract:
    """What the program accepts as a component of one kind.

    base: the class that classes must inherit from, by its full name, so that the check imports nothing; empty for any.
    function_of: the parameters that a function must have; None if functions are not accepted.
    bound: a function is the component itself and not its factory, so building it only fixes its other parameters.
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
