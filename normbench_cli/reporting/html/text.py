"""Text from the database in a page: as content, as an attribute, and as JSON inside a script element."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping
from datetime import date
from typing import Any


def escape(text: object) -> str:
    """Text as the content of an element or the value of a quoted attribute."""
    return html.escape(without_control_characters(str(text)), quote=True)


def without_control_characters(text: str) -> str:
    """Replace what HTML does not allow: control characters and lone surrogates."""
    allowed = (char if char.isprintable() or char in "\n\t" or ord(char) > 0x9F else "\ufffd" for char in text)
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in allowed)


def to_json(value: Any) -> str:
    """JSON that can neither end the enclosing script element nor begin a comment."""
    text = json.dumps(json_value(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def json_value(value: Any) -> Any:
    """The value in JSON's own types; numbers that JSON lacks become text."""
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [json_value(item) for item in value]
    if hasattr(value, "item"):  # a NumPy scalar
        value = value.item()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)
