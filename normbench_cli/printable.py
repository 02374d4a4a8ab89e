r"""Text from anywhere as text to show: what a terminal, an editor or a browser would obey becomes visible.

Names, tags, notes and messages may come from somebody else's database or file.  Every line that is printed and every
text file that is written passes through `printable`.  `masked` hides the passwords of URLs.
"""

from __future__ import annotations

import re

OBEYED = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but newline and tab: escape sequences begin with one
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # they change the direction of text
    "\u2028\u2029"  # line ends that are not seen as such
    "\ud800-\udfff"  # halves of characters, which no encoding has
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # invisible
    "]"
)
IN_URL = re.compile(r"""(://[^:/?#@\s]*:)[^\s"'<>]+@""")  # to the last @: who forgot to write %40 shows no half of it
IN_QUERY = re.compile(r"""([?&]\w*(?:password|passwd|secret|token)\w*=)[^&\s"'<>]+""", re.IGNORECASE)


def printable(text: str) -> str:
    r"""The text with ``\x1b`` in place of an escape character, and the like; newlines and tabs stay."""
    return OBEYED.sub(lambda match: ascii(match[0])[1:-1], text)


def masked(text: str) -> str:
    """The text with ``***`` in place of the passwords of URLs: ``postgresql://me:***@host/name``."""
    return IN_QUERY.sub(r"\1***", IN_URL.sub(r"\1***@", text))
