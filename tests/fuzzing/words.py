"""Values that programs stumble over, and ways to damage a text or a file's bytes."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

NASTY = [
    *("", " ", "²", "٣", "nan", "-inf", "1e400", "-1", "0", "99999999999999999999", "true", "None", "=", ":", ",", "+"),
    *("x\0y", "\udcff", "a" * 5000, "/", "..", "../..", "~nosuchuser/x", "/dev/null", "a/b/c", "%", "é", "-", "--"),
    *("'; DROP TABLE runs", "..:x", "os:system", "no.such:Thing", "key=value", "norm=", "norm=bn", "seed=²", "=x"),
    *("\x1b[31m", "sqlite://", "postgres://x/y", "nosuch://x", "50%", "epoch 1", "-5%", "0-9999999999999", "5-2"),
    *("1,,2", "\u202e", "\u2028", "İ", "ß", "🙂", "{}", "[]", "\\", "__import__('os')", "1=1", "a\nb", "\ufeff"),
]
NUMBERS = ["0", "1", "2", "-1", "0.5", "1.5", "nan", "inf", "-inf", "1e-400", "1e400", "x", "", "²", "true", "1_0"]
TOKEN = re.compile(r"[\w.]+|\"[^\"\n]*\"|'[^'\n]*'")


def damaged_bytes(content: bytes, rng: random.Random) -> bytes:
    """Bits flipped, a part removed, repeated, replaced by random bytes, or the end cut off."""
    made = bytearray(content or b"\0")
    for _ in range(rng.choice([1, 1, 2, 5, 30])):
        if not made:
            break
        at = rng.randrange(len(made))
        part = slice(at, at + rng.choice([1, 4, 40, 4096]))
        way = rng.randrange(10)
        if way < 6:
            made[at] ^= 1 << rng.randrange(8)
        elif way < 9:
            made[part] = rng.choice([b"", made[part] * 2, rng.randbytes(len(made[part])), bytes(len(made[part]))])
        else:
            del made[at:]
    return bytes(made)


def damaged_text(text: str, rng: random.Random, others: list[str]) -> str:
    """A text with words replaced by `others` or nasty ones, lines moved, removed or repeated."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        text = rng.choice(WAYS)(text, rng, others)
    return text


def replace_word(text: str, rng: random.Random, others: list[str]) -> str:
    found = list(TOKEN.finditer(text))
    if not found:
        return text + rng.choice(NASTY)
    word, new = rng.choice(found), rng.choice([*others, rng.choice(NASTY), rng.choice(NUMBERS)])
    if word[0][0] in "\"'" and rng.random() < 0.8:  # a string stays one
        new = word[0][0] + new.replace(word[0][0], "") + word[0][0]
    return text[: word.start()] + new + text[word.end() :]


def misspell(text: str, rng: random.Random, _others: list[str]) -> str:
    at = rng.randrange(len(text) + 1)
    return (
        text[:at]
        + rng.choice(["", "x", " ", '"', "'", "[", "]", "{", "=", "\n", "\t", "é", "\0", ","])
        + text[at + 1 :]
    )


def move_lines(text: str, rng: random.Random, _others: list[str]) -> str:
    lines = text.split("\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    how = rng.randrange(3)
    if how == 0:
        del lines[first]
    elif how == 1:
        lines.insert(second, lines[first])
    else:
        lines[first], lines[second] = lines[second], lines[first]
    return "\n".join(lines)


def repeat_part(text: str, rng: random.Random, _others: list[str]) -> str:
    at = rng.randrange(len(text) + 1)
    end = min(len(text), at + rng.choice([1, 5, 50]))
    return text[:end] + text[at:end] * rng.choice([1, 2, 200]) + text[end:]


WAYS: list[Callable[[str, random.Random, list[str]], str]] = [
    *(replace_word, replace_word, replace_word, misspell, move_lines, repeat_part)
]
