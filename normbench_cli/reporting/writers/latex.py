"""LaTeX tables with the rules of the booktabs package, for ``\\input`` in a paper."""

from __future__ import annotations

import re
from collections.abc import Iterator

from normbench_cli.reporting.document import Cell, Document, Figure, Paragraph, Table

SPECIAL = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "±": r"$\pm$",
    "-": "{-}",  # two hyphens would become a dash
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
MINUS = re.compile(r"(?<![\w-])-(?=\.?\d)")
PACKAGES = r"% needs \usepackage{booktabs} and \usepackage[T1]{fontenc}"


def to_latex(document: Document) -> str:
    head = [f"% {comment(name)}: {comment(text)}" for name, text in document.head.items()]
    lead = [escape(document.lead)] if document.lead else []
    blocks = [*lead, *("\n".join(lines(block)) for block in document.blocks)]
    return "\n".join([f"% {comment(document.title)}", *head, PACKAGES, "", "\n\n".join(blocks)]) + "\n"


def lines(block: Table | Figure | Paragraph) -> Iterator[str]:
    if isinstance(block, Paragraph):
        yield escape(block.text)
        if block.command:
            yield f"\\par\\texttt{{{escape(block.command)}}}"
        return
    if isinstance(block, Figure):
        yield f"% figure: {comment(block.title)}"
        return
    notes = " ".join(block.notes)
    caption = ": ".join(filter(None, [block.title, notes]))
    columns = "l" * block.keys + "r" * (len(block.columns) - block.keys)
    yield from (
        r"\begin{table}",
        r"  \centering",
        f"  \\caption{{{escape(caption)}}}",
        f"  \\begin{{tabular}}{{{columns}}}",
    )
    yield r"    \toprule"
    yield f"    {row([escape(name) for name in block.columns])}"
    yield r"    \midrule"
    yield from (f"    {row([cell(one) for one in cells])}" for cells in block.rows)
    yield from (r"    \bottomrule", r"  \end{tabular}", r"\end{table}")


def row(cells: list[str]) -> str:
    """Braces keep a cell that begins with a bracket from being read as an option of the line break before it."""
    return " & ".join(f"{{{text}}}" if text.startswith(("[", "*")) else text for text in cells) + r" \\"


def cell(one: Cell) -> str:
    text = escape(one.text)
    text = f"\\textbf{{{text}}}" if one.bold else text
    return f"\\underline{{{text}}}" if one.underline else text


def escape(text: str) -> str:
    """Escape text for LaTeX; a hyphen before a number becomes a minus sign."""
    pieces = MINUS.split(comment(text))
    return "$-$".join("".join(SPECIAL.get(sign, sign) for sign in piece) for piece in pieces)


def comment(text: str) -> str:
    """Text on one line, without characters that TeX rejects."""
    return "".join(sign for sign in " ".join(text.split()) if sign.isprintable())
