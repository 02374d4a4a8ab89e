"""The values that a parameter or a setting accepts, declared once: in the annotation, ``eps: Annotated[float,
Bounds(above=0)] = 1e-5``, or where a torch class is registered.

The registry reads them from the source, checks every spec against them, and checks the arguments of a decorated
component on every call.  A number without bounds only has to be finite.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache, wraps
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

from normbench_cli.errors import UsageError

ComponentT = TypeVar("ComponentT", bound=Callable[..., Any])


@dataclass(frozen=True)
class Bounds:
    """Accepted values: numbers within these limits, or one of these words.

    None is always accepted, because the type says whether a parameter is optional.  infinite: inf is accepted; nan
    never is.  or_word: a word that is accepted besides numbers.
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    infinite: bool = False
    one_of: tuple[str, ...] = ()
    or_word: str | None = None

    def accepts(self, value: Any) -> bool:
        if value is None or (self.or_word is not None and value == self.or_word):
            return True
        if self.one_of:
            return value in self.one_of
        if isinstance(value, str) or not hasattr(value, "__float__"):
            return not self.limits
        if not isinstance(value, int) and not math.isfinite(value):
            return self.infinite and value == math.inf
        return (
            (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def check(self, name: str, value: Any) -> None:
        if not self.accepts(value):
            raise UsageError(f"{name} is {value}", self.remedy)

    @property
    def limits(self) -> dict[str, Any]:
        """The declared limits by name."""
        declared = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: limit for name, limit in declared.items() if limit is not field_default(name)}

    @property
    def remedy(self) -> str:
        """What to do about a rejected value."""
        words = str(self)
        return f"give {'a number ' * words.startswith(('above', 'below'))}{words}"

    def __str__(self) -> str:
        if self.one_of:
            return " or ".join(self.one_of)
        if self.least is not None and self.most is not None:
            words = f"{in_digits(self.least)} to {in_digits(self.most)}"
        else:
            parts = [f"above {in_digits(self.above)}"] if self.above is not None else []
            parts += [f"{in_digits(self.least)} or more"] if self.least is not None else []
            parts += [f"below {in_digits(self.below)}"] if self.below is not None else []
            parts += [f"at most {in_digits(self.most)}"] if self.most is not None else []
            words = " and ".join(parts) or "a finite number"
        return words + ", or inf" * self.infinite + (f", or {self.or_word}" if self.or_word else "")


def field_default(name: str) -> Any:
    return getattr(Bounds, name)


def in_digits(limit: float) -> str:
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"


Finite = Annotated[float, Bounds()]
NotNegative = Annotated[float, Bounds(least=0)]
Positive = Annotated[float, Bounds(above=0)]
Share = Annotated[float, Bounds(least=0, most=1)]
PartialShare = Annotated[float, Bounds(least=0, below=1)]
PositiveShare = Annotated[float, Bounds(above=0, most=1)]
Count = Annotated[int, Bounds(least=1, most=1_000_000_000)]
FewCount = Annotated[int, Bounds(least=1, most=1_000)]
Seed = Annotated[int, Bounds(least=0, most=2_147_483_647)]


def bounds_of(hint: Any) -> Bounds:
    """The bounds in an annotation; by default, a number only has to be finite."""
    declared = [part for part in get_args(hint) if isinstance(part, Bounds)] if get_origin(hint) is Annotated else []
    return declared[0] if declared else Bounds()


def checking_arguments(component: ComponentT) -> ComponentT:
    """Make a component check its arguments: a function when called, a class when instantiated."""
    if not isinstance(component, type):
        return cast(ComponentT, checked(component))
    component.__init__ = checked(component.__init__)  # type: ignore[misc]
    return component


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function to raise a ValueError for arguments outside the bounds in its annotations."""

    @cache  # evaluated at the first call, when all names in the annotations are defined
    def bounded() -> list[tuple[str, int, Bounds]]:
        try:
            hints = get_type_hints(function, include_extras=True)
        except NameError:  # a name imported for type checkers only; specs are still checked, from the source
            return []
        return [
            (name, position, bounds_of(hints[name]))
            for position, name in enumerate(inspect.signature(function).parameters)
            if get_origin(hints.get(name)) is Annotated
        ]

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for name, position, bounds in bounded():
            value = kwargs[name] if name in kwargs else args[position] if position < len(args) else None
            if not bounds.accepts(value):
                raise ValueError(f"{name} is {value}; {bounds.remedy}")
        return function(*args, **kwargs)

    return call


def from_literals(declared: Mapping[str, Mapping[str, Any]]) -> dict[str, Bounds]:
    """Read the bounds of a registration: ``bounds={"alpha": {"above": 0}}``."""
    return {name: Bounds(**limits) for name, limits in declared.items()}
