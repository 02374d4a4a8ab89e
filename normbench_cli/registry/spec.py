"""The grammar of specs, ``name:key=value,key=value``, the values of parameters, and suggestions for misspelled names.

A comma inside a value is escaped with a backslash.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from itertools import product
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from normbench_cli.errors import UsageError

MOST_CHOICES, NEAREST_CHOICES = 40, 10  # an error lists all choices, or the nearest if there are more


def split_spec(text: str) -> tuple[str, dict[str, str]]:
    """The name and raw parameters of ``name:key=value,...`` or ``package.module:Class:key=value,...``."""
    name, _, rest = text.strip().partition(":")
    if rest and "=" not in rest.split(":", 1)[0]:  # the part after the colon is a class, not a parameter
        attribute, _, rest = rest.partition(":")
        name = f"{name}:{attribute}"
    params: dict[str, str] = {}
    for piece in filter(None, split_commas(rest)):
        key, equals, value = piece.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise UsageError(f"'{piece}' in '{text}' is not key=value", "write name:key=value,key=value")
        if key.strip() in params:
            raise UsageError(f"'{key.strip()}' is given twice in '{text}'", "give it once")
        params[key.strip()] = value.strip().replace("\\,", ",")
    if not name.strip():
        raise UsageError(f"'{text}' names nothing", "write name or name:key=value")
    return name.strip(), params


def join_spec(name: str, params: Mapping[str, Any]) -> str:
    """The inverse of `split_spec`, with values of any type."""
    pieces = [f"{key}={format_value(value)}".replace(",", "\\,") for key, value in params.items()]
    return f"{name}:{','.join(pieces)}" if pieces else name


def split_commas(text: str) -> list[str]:
    """Split at unescaped commas."""
    return re.split(r"(?<!\\),", text)


def split_joined(text: str) -> list[str]:
    """Split ``ws+gn:groups=8`` into parts.  A plus separates only before a letter, so not in 1e+3."""
    parts = [""]
    for index, letter in enumerate(text):
        if letter == "+" and text[index + 1 : index + 2].isalpha():
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def split_list(text: str) -> list[str]:
    """Split ``augnorm:phi=1.5,popnorm:kappa=4,remove=none,bn`` into its three specs: a bare ``key=value`` belongs to
    the spec before it."""
    specs: list[str] = []
    for piece in split_commas(text):
        is_parameter = "=" in piece.partition(":")[0]
        if is_parameter and specs:
            specs[-1] += f",{piece}" if ":" in specs[-1] else f":{piece}"
        elif piece.strip():
            specs.append(piece.strip())
    return specs


def expand(spec: str) -> list[str]:
    """One spec for each combination of slash-separated values, as in ``bim:eps=0.01/0.02,steps=5``."""
    name, params = split_spec(spec)
    choices = [text.split("/") for text in params.values()]
    return [join_spec(name, dict(zip(params, chosen, strict=True))) for chosen in product(*choices)]


def read_value(text: Any, kind: Any, where: str) -> Any:
    """Convert the text of a parameter's value to the parameter's type; `where` names it in messages.  Values that are
    not text must have that type."""
    if not isinstance(text, str):
        if not is_of_type(text, kind):
            raise UsageError(f"{where} is {text!r}, not {type_name(kind)}", f"give {type_name(kind)}")
        return text
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        for choice in choices:
            if text == str(choice).lower() or text == str(choice):
                return choice
        raise UsageError(f"{where}={text} is not one of {', '.join(map(str, choices))}", suggest(text, list(choices)))
    if get_origin(kind) in (Union, UnionType):
        for option in get_args(kind):
            if option is type(None):
                if text.lower() == "none":
                    return None
                continue
            try:
                return read_value(text, option, where)
            except UsageError:
                continue
        raise UsageError(f"{where}={text} is not {type_name(kind)}", f"write {type_name(kind)}")
    if kind is bool:
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if text.lower() not in words:
            raise UsageError(f"{where}={text} is not true or false", "write true or false")
        return words[text.lower()]
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            raise UsageError(f"{where}={text} is not {type_name(kind)}", f"write {type_name(kind)}") from None
    return text


def is_of_type(value: Any, kind: Any) -> bool:
    """Whether a value that is not text has a parameter's type; an int is a valid float, and True is neither."""
    if get_origin(kind) in (Union, UnionType):
        return any(is_of_type(value, option) for option in get_args(kind))
    if get_origin(kind) is Literal or isinstance(value, bool):
        return value in get_args(kind) or kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def type_name(kind: Any) -> str:
    """The name of a type for messages."""
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "a word", type(None): "none"}
    return " or ".join(words.get(part, str(part)) for part in get_args(kind) or (kind,))


def format_value(value: Any) -> str:
    """A value as it is written in a spec: 4, 1e-05, true."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return "none" if value is None else str(value)


def suggest(wrong: str, choices: list[str]) -> str:
    """What to do about a wrong name: the nearest valid one, and all choices, or the nearest of many."""
    close = difflib.get_close_matches(wrong, choices, n=1)
    everything = f"choose from {', '.join(choices)}" if choices else "it takes none"
    if len(choices) > MOST_CHOICES:
        nearest = difflib.get_close_matches(wrong, choices, n=NEAREST_CHOICES, cutoff=0)
        everything = f"there are {len(choices)}; the nearest are {', '.join(nearest)}"
    return f"did you mean '{close[0]}'? ({everything})" if close else everything


def first_line(docstring: str | None) -> str:
    return (docstring or "").strip().partition("\n")[0]
