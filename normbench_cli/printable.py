r"""Untrusted text made safe to show: characters that a terminal, an editor or a browser would interpret are escaped.

Names, tags, notes and messages may come from someone else's database or file.  Every line that is printed and every
text file that is written passes through `printable`.  `masked` hides the passwords in URLs.
"""

from __future__ import annotations

import re

OBEYED = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters except newline and tab: escape sequences begin with one
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # they change the direction of text
    "\u2028\u2029"  # line ends that do not look like one
    "\ud800-\udfff"  # lone surrogates, which cannot be encoded
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # invisible
    "]"
)
IN_URL = re.compile(r"""(://[^:/?#@\s]*:)[^\s"'<>]+@""")  # to the last @, as a password may have an unescaped one
IN_QUERY = re.compile(r"""([?&]\w*(?:password|passwd|secret|token)\w*=)[^&\s"'<>]+""", re.IGNORECASE)


def printable(text: str) -> str:
    r"""The text with ``\x1b`` in place of an escape character, and the like; newlines and tabs stay."""
    return OBEYED.sub(lambda match: ascii(match[0])[1:-1], text)


def masked(text: str) -> str:
    """The text with the passwords in URLs replaced by ``***``: ``postgresql://me:***@host/name``."""
    return IN_QUERY.sub(r"\1***", IN_URL.sub(r"\1***@", text))
