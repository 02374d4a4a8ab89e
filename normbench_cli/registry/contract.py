"""What a component from outside must be: checked before it is used, and said in the message when it is not."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MODULE = "torch.nn.Module"
REAL_NAMES = {MODULE: "torch.nn.modules.module.Module"}


@dataclass(frozen=True)
class Contract:
    """What the program accepts for one kind of component.

    base: the class that classes must inherit from, by its full name, so that checking imports nothing; empty for any.
    function_of: the parameters that a function must have; None where functions are not accepted.
    bound: such a function is the component itself, not the maker of one: building it fixes its other parameters.
    """

    base: str = ""
    function_of: tuple[str, ...] | None = None
    bound: bool = False

    def accepts(self, component: object) -> bool:
        if isinstance(component, type):
            return not self.base or REAL_NAMES.get(self.base, self.base) in {
                f"{ancestor.__module__}.{ancestor.__qualname__}" for ancestor in component.__mro__
            }
        if self.function_of is None or not callable(component):
            return False
        return set(self.function_of) <= parameter_names(component)

    def __str__(self) -> str:
        forms = [f"a class made from {self.base}" if self.base else "a class"]
        if self.function_of is not None:
            names = " and ".join(self.function_of)
            forms.append(f"a function of {names}" if names else "a function")
        return " or ".join(forms)


def parameter_names(function: Callable[..., Any]) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some built-in functions have no signature
        return set()
