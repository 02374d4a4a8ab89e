"""Documents for the tests of the writers."""

from __future__ import annotations

from normbench_cli.reporting.document import Cell, Document, Paragraph, Table

NASTY = (
    r"""a|b `c` *d* _e_ [f](g) <script>alert(1)</script> & 50% $x$ #1 ~ ^ \textbf{h} {i} "j" 'k' --l""" + "\nm\u2028n"
)
HEAD = {"command": "normbench report --tag 'x\ny'", "database": "results.db"}


def document_of(text: str) -> Document:
    """A document with the text wherever text can be."""
    rows = [
        [Cell(text), Cell("1.00 ± 0.10 (n=2)", 1.0, bold=True)],
        [Cell("[x]"), Cell("0.90 (n=1)", 0.9, underline=True)],
    ]
    table = Table(text, ["norm", text], rows, [text, "# note"])
    return Document(text, HEAD | {"runs": text}, [table, Paragraph(text)])
