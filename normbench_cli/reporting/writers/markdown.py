"""GitHub's Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from normbench_cli.reporting.document import Cell, Document, Figure, Paragraph, Table

MARKUP = re.compile(r"([\\`*_{}\[\]<>|~&$])")
AGAIN = "How to reproduce this report"
FIRST = re.compile(r"^(\s*)([#+\-=:]|\d+(?=[.)]))")  # would begin a heading, a list or a rule


def to_markdown(document: Document) -> str:
    head = "\n".join(f"- {escape(name)}: {escape(text)}" for name, text in document.head.items())
    blocks = [part for block in document.blocks for part in block_parts(block)]
    order = [f"**{escape(document.lead)}**", *blocks, f"## {AGAIN}", head] if document.lead else [head, *blocks]
    parts = [f"# {escape(document.title)}", *order]
    return "\n\n".join(filter(None, parts)) + "\n"


def block_parts(block: Table | Figure | Paragraph) -> Iterator[str]:
    if isinstance(block, Paragraph):
        yield escape(block.text, first=True)
        if block.command:
            yield fenced(block.command)
        return
    if block.title:
        yield f"## {escape(block.title)}"
    yield table(block) if isinstance(block, Table) else f"![{escape(block.title)}](<{file_of(block)}>)"
    yield from (escape(note, first=True) for note in block.notes)


def fenced(text: str) -> str:
    """The text unchanged, on one line, in a block whose fence does not occur in it."""
    line = " ".join(text.split("\n"))
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", line)), default=0))
    return f"{fence}console\n$ {line}\n{fence}"


def table(block: Table) -> str:
    right = [bool(block.rows) and all(row[index].value is not None or row[index].text in ("-", "")
             for row in block.rows) and index >= block.keys for index in range(len(block.columns))]  # fmt: skip
    rule = ["---:" if end else "---" for end in right]
    lines = [[escape(name) for name in block.columns], rule, *([cell(one) for one in row] for row in block.rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(one: Cell) -> str:
    text = escape(one.text)
    text = f"[{text}](<{one.link}>)" if one.link else text
    text = f"**{text}**" if one.bold else text
    return f"<u>{text}</u>" if one.underline else text


def escape(text: str, first: bool = False) -> str:
    """Escape text so that it is shown literally, on one line.  first: it begins a paragraph."""
    escaped = MARKUP.sub(r"\\\1", " ".join(text.split()))
    return FIRST.sub(lambda found: f"{found[1]}{escape_first(found[2])}", escaped) if first else escaped


def escape_first(sign: str) -> str:
    return f"&#{ord(sign[0])};{sign[1:]}"


def file_of(figure: Figure) -> str:
    """The name of the file that `plots` writes."""
    return re.sub(r"[^\w.-]+", "_", figure.name) + ".svg"
