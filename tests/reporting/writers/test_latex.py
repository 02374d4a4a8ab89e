"""LaTeX: booktabs tables, and text from the database as text."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from normbench_cli.reporting.writers.latex import escape, to_latex
from tests.reporting.documents import NASTY, document_of


def test_a_table_has_rules_marks_and_a_caption() -> None:
    text = to_latex(document_of("t"))
    assert text.startswith("% t\n% command: normbench report --tag 'x y'\n% database: results.db\n% runs: t\n")
    assert r"\begin{tabular}{lr}" in text
    assert text.index(r"\toprule") < text.index(r"norm & t \\") < text.index(r"\midrule") < text.index(r"\bottomrule")
    assert r"t & \textbf{1.00 $\pm$ 0.10 (n=2)} \\" in text
    assert r"{[x]} & \underline{0.90 (n=1)} \\" in text
    assert r"\caption{t: t \# note}" in text


def test_specials_are_escaped_and_braces_balance() -> None:
    body = to_latex(document_of(NASTY)).partition(r"\begin{table}")[2]
    plain = re.sub(r"\\[{}&%$#_\\]", "", body)
    assert plain.count("{") == plain.count("}")
    assert r"\textbackslash{}textbf\{h\}" in body
    assert r"\textless{}script\textgreater{}" in body
    for line in body.splitlines():
        if line.strip().endswith(r"\\"):
            assert len(re.findall(r"(?<!\\)&", line)) == 1
            assert not re.search(r"(?<!\\)[%#$]", line.replace(r"$\pm$", ""))


def test_comments_stay_on_their_line() -> None:
    head = to_latex(document_of(NASTY)).partition(r"\begin{table}")[0]
    assert all(not line or line.startswith("%") for line in head.splitlines())


def test_hyphens_do_not_become_dashes() -> None:
    assert escape("--where") == "{-}{-}where"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_accepts_it(tmp_path: Path) -> None:
    packages = "\\documentclass{article}\\usepackage{booktabs}\\usepackage[T1]{fontenc}\\usepackage{textcomp}"
    (tmp_path / "t.tex").write_text(f"{packages}\\begin{{document}}{to_latex(document_of(NASTY))}\\end{{document}}")
    subprocess.run(["pdflatex", "-halt-on-error", "t.tex"], cwd=tmp_path, check=True, capture_output=True)


def test_a_number_has_a_minus_sign_and_a_word_a_hyphen() -> None:
    assert escape("-2.66 [-3, -.5]") == "$-$2.66 [$-$3, $-$.5]"
    assert escape("2026-11-19 sign-flip") == "2026{-}11{-}19 sign{-}flip"
