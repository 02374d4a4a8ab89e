"""A recursive descent parser from the text of a filter to its tree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import suggest
from normbench_cli.store.filter.expression import And, Comparison, Filter, Node, Not, Or
from normbench_cli.store.filter.position import Position, printable
from normbench_cli.store.filter.values import NAMES, looks_like_a_metric

MOST_NESTED = 50  # parentheses
FREE_TEXT = ("note", "tag", "data")  # settings whose values may contain blanks: sentences, and folder paths
PLAIN = re.compile(r"\s*(\w+)\s*=(?!=)\s*((?![\s'\"]).*\S|)\s*", re.DOTALL)
JOINED = re.compile(r"\s(and|or)\s", re.IGNORECASE)
BLANKS = re.compile(r"\s*")
QUOTED = re.compile(r"'((?:[^']|'')*)'|\"((?:[^\"]|\"\")*)\"")
PARAMETER = r"[^\s()'\"<>=!,:]+=[^\s()'\"<>=!,]+"
NAME = re.compile(rf"[^\s()'\"<>=!,@]+(?:@[^\s()'\"<>=!,:]+(?::{PARAMETER}(?:,{PARAMETER})*)?)?")
OPERATOR = re.compile(r"==|!=|<>|<=|>=|=|<|>")
VALUE = re.compile(r"[^\s()'\"]+")
ITEM = re.compile(r"(?:\\,|[^\s()'\",])+")
EXAMPLE = "write key=value, or for example: norm in (batchnorm, popnorm:kappa=8) and test/accuracy > 0.9"


def parse_where(texts: Iterable[str]) -> Filter:
    """Parse the arguments of ``--where``: all must hold, but a key given twice as ``key=value`` accepts both values."""
    accepted: dict[str, list[str]] = {}
    parts: list[Node] = []
    for text in texts:
        if pair := plain_pair(text):
            accepted.setdefault(pair[0], []).append(pair[1])
        else:
            parts.append(Parser(text).parse())
    parts = [*(Comparison(name, "=", tuple(values)) for name, values in accepted.items()), *parts]
    return Filter(joined(And, parts) if parts else None)


def parse_filter(text: str) -> Filter:
    """Parse one filter: ``key=value`` or an expression."""
    return parse_where([text])


def plain_pair(text: str) -> tuple[str, str] | None:
    """Split ``key=value``, where the value needs no quotes; None for an expression."""
    found = PLAIN.fullmatch(text)
    if not found or JOINED.search(text):
        return None
    name, value = found[1], found[2]
    if name not in FREE_TEXT and re.search(r"[\s()]", value):
        return None
    check_name(name)
    return name, value


def check_name(name: str, position: Position | None = None) -> None:
    if name in NAMES or (looks_like_a_metric(name) and name.isprintable()):
        return
    what = f"there is no setting '{printable(name)}'"
    do = suggest(name[:40], [*NAMES, "test/accuracy", "train/loss"]) + "; a metric of another name is written in quotes"
    raise position.error(what, do) if position else UsageError(what, do)


def joined(kind: type[And | Or], parts: Sequence[Node]) -> Node:
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


class Parser:
    """Reads one expression from left to right; ``at`` is the next character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.nested = 0

    def parse(self) -> Node:
        found = self.expression()
        if self.at < len(self.text):
            raise self.unexpected()
        return found

    def expression(self) -> Node:
        parts = [self.conjunction()]
        while self.keyword("or"):
            parts.append(self.conjunction())
        return joined(Or, parts)

    def conjunction(self) -> Node:
        parts = [self.negation()]
        while self.keyword("and"):
            parts.append(self.negation())
        return joined(And, parts)

    def negation(self) -> Node:
        negated = False
        while self.keyword("not"):
            negated = not negated
        found = self.group() if self.sign("(") else self.comparison()
        return Not(found) if negated else found

    def group(self) -> Node:
        opened = Position(self.text, self.at - 1)
        self.nested += 1
        if self.nested > MOST_NESTED:
            raise opened.error(f"more than {MOST_NESTED} parentheses are open", "write the filter with fewer")
        found = self.expression()
        if not self.sign(")"):
            raise self.unexpected() if self.rest() else opened.error("this parenthesis is not closed", "add )")
        self.nested -= 1
        return found

    def comparison(self) -> Node:
        position = self.position()
        name = self.name()
        negated = self.keyword("not")
        for operator in ("in", "like"):
            if self.keyword(operator):
                found = Comparison(name, operator, self.items() if operator == "in" else (self.value(VALUE),), position)
                return Not(found) if negated else found
        sign = None if negated else OPERATOR.match(self.text, self.at)
        if not sign:
            do = "write in or like" if negated else EXAMPLE
            raise self.position().error(f"expected an operator after {printable(name)}", do)
        self.at = sign.end()
        operator = {"==": "=", "!=": "=", "<>": "="}.get(sign[0], sign[0])
        found = Comparison(name, operator, (self.value(VALUE),), position)
        return Not(found) if sign[0] in ("!=", "<>") else found

    def name(self) -> str:
        position = self.position()
        if (quoted := self.quoted()) is not None:
            if quoted not in NAMES and not (quoted and quoted.isprintable()):
                raise position.error("this is not the name of a setting or metric", EXAMPLE)
            return quoted
        found = NAME.match(self.text, self.at)
        if not found or found[0].lower() in ("and", "or"):
            raise position.error("expected a setting or metric", EXAMPLE)
        check_name(found[0], position)
        self.at = found.end()
        self.skip()
        return found[0]

    def value(self, pattern: re.Pattern[str]) -> str:
        self.skip()
        position = self.position()
        if (quoted := self.quoted()) is not None:
            return quoted
        found = pattern.match(self.text, self.at)
        if not found or found[0].lower() in ("and", "or"):
            raise position.error("expected a value", "write one; in quotes if it has blanks or parentheses")
        self.at = found.end()
        self.skip()
        return found[0]

    def items(self) -> tuple[str, ...]:
        """The values of ``in (...)``; a bare ``key=value`` belongs to the spec before it, as on the command line."""
        if not self.sign("("):
            raise self.position().error("in is not followed by a list", "write in (batchnorm, popnorm)")
        found: list[str] = []
        while True:
            bare = self.text[self.at : self.at + 1] not in "'\""
            item = self.value(ITEM)
            if found and bare and "=" in item.partition(":")[0]:
                found[-1] += f",{item}" if ":" in found[-1] else f":{item}"
            else:
                found.append(item)
            if self.sign(")"):
                return tuple(found)
            if not self.sign(","):
                raise self.position().error("the values of in are not separated by a comma", "write in (a, b)")

    def quoted(self) -> str | None:
        """Quoted text, in which quotes are doubled; None if none begins here."""
        if self.text[self.at : self.at + 1] not in ("'", '"'):
            return None
        found = QUOTED.match(self.text, self.at)
        if not found:
            raise self.position().error("this quote is not closed", "close it; a quote inside a text is doubled")
        self.at = found.end()
        self.skip()
        mark = found[0][0]
        return found[0][1:-1].replace(mark * 2, mark)

    def keyword(self, word: str) -> bool:
        self.skip()
        end = self.at + len(word)
        after = self.text[end : end + 1]
        if self.text[self.at : end].lower() != word or not (after == "" or after.isspace() or after in "()'\""):
            return False
        self.at = end
        self.skip()
        return True

    def sign(self, sign: str) -> bool:
        self.skip()
        if not self.text.startswith(sign, self.at):
            return False
        self.at += len(sign)
        self.skip()
        return True

    def unexpected(self) -> UsageError:
        """The error for text after the end of a comparison."""
        word = re.split(r"[\s()'\"]", self.rest(), maxsplit=1)[0]
        do = suggest(word[:40].lower(), ["and", "or"]) if word else "join comparisons by and, or; count the parentheses"
        return self.position().error("expected 'and', 'or' or the end", do)

    def rest(self) -> str:
        return self.text[self.at :]

    def position(self) -> Position:
        return Position(self.text, self.at)

    def skip(self) -> None:
        """Skip blanks."""
        found = BLANKS.match(self.text, self.at)
        self.at = found.end() if found else self.at
