"""What a profile may sweep, and parsing the values in `--sweep batch-size=8/16/.../512`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import suggest

LETTERS = {"batch-size": "N", "width": "C", "size": "S"}  # of the dimensions of a shape
MOST = 100  # values
EXAMPLE = "write batch-size=8/16/32, or batch-size=8/16/.../512"


@dataclass(frozen=True)
class Sweep:
    """name: one of LETTERS; batch size and width (channels) apply to layers and models, size (height and width of an
    image) only to layers."""

    name: str
    values: tuple[int, ...]

    def reshape(self, shape: tuple[int, ...], value: int) -> tuple[int, ...]:
        """The shape of a layer's input with this value."""
        if self.name == "size" and len(shape) == 2:
            raise UsageError(f"--sweep size: {'x'.join(map(str, shape))} has no height and width", "sweep width")
        return tuple(
            value if letter == LETTERS[self.name] else n for n, letter in zip(shape, letters(shape), strict=True)
        )

    def series(self, shape: str) -> str:
        """128x64x32x32 -> Nx64x32x32, the same name for all shapes of a series."""
        sizes = shape.split("x") if shape else []
        own = LETTERS[self.name]
        return "x".join(own if letter == own else size for size, letter in zip(sizes, letters(sizes), strict=True))


def letters(shape: Sequence[object]) -> list[str]:
    """The names of a shape's dimensions: N, C, S, ..."""
    return ["N", "C", *["S"] * (len(shape) - 2)][: len(shape)]


def parse_sweep(text: str) -> Sweep:
    name, equals, rest = text.partition("=")
    name = name.strip().replace("_", "-")
    if not equals:
        raise UsageError(f"--sweep {text} names no values", EXAMPLE)
    if name not in LETTERS:
        raise UsageError(f"--sweep {text}: there is no '{name}' to sweep", suggest(name, list(LETTERS)))
    return Sweep(name, read_values(text, rest.split("/")))


def read_values(text: str, pieces: Sequence[str]) -> tuple[int, ...]:
    """The values between slashes, without duplicates; `...` continues the step before it."""
    found: list[int] = []
    for number, piece in enumerate(pieces):
        if piece.strip() == "...":
            if number != 2 or len(pieces) != 4:
                raise UsageError(f"--sweep {text}: ... stands between two values and the last", EXAMPLE)
            continue
        value = read_number(text, piece)
        after = continued(found[0], found[1], value) if number and pieces[number - 1].strip() == "..." else [value]
        if not after:
            raise UsageError(f"--sweep {text}: no equal steps or factors lead to {value}", "name all values")
        found += after
    values = tuple(dict.fromkeys(found))
    if len(values) < 2:
        raise UsageError(f"--sweep {text} has one value", "give two or more")
    return values


def read_number(text: str, piece: str) -> int:
    digits = piece.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10 and int(digits)):
        raise UsageError(f"--sweep {text}: '{piece}' is not a whole number between 0 and a billion", EXAMPLE)
    return int(digits)


def continued(first: int, second: int, last: int) -> list[int]:
    """The values after the second up to the last, by a constant factor or else a constant step; empty if neither leads
    to the last."""
    if not first < second < last:
        return []
    step = second - first
    times = [second * (second // first) ** number for number in range(1, MOST)] if second % first == 0 else []
    if last in times:
        return times[: times.index(last) + 1]
    more = range(second + step, last + 1, step)
    return list(more) if last in more and len(more) < MOST else []
