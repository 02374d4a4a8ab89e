"""The page read by an HTML parser: what comes from the database is text, everywhere; nothing is loaded."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from normbench_cli.reporting.document import Cell, Document
from normbench_cli.reporting.html import to_html
from normbench_cli.reporting.html.page import resource, source_hash
from normbench_cli.reporting.html.plots import page_svg
from normbench_cli.reporting.html.tables import cell_html
from normbench_cli.reporting.html.text import escape, to_json
from tests.reporting.html.conftest import BREAKOUT, ODD, QUOTES, SCRIPT, SPECIALS


class Reader(HTMLParser):
    """The elements of a page, its text, and the content of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text, self.scripts, self.inside = "", list[str](), ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "script":
            self.scripts[-1] += data
        elif self.inside != "style":
            self.text += data


@pytest.fixture(scope="module")
def page(document: Document) -> str:
    return to_html(document)


def test_texts_are_shown_as_they_are_and_make_no_element(page: str) -> None:
    reader = Reader(page)
    for odd in ODD:
        assert odd in reader.text
    tags = Counter(tag for tag, _ in reader.tags)
    assert tags["script"] == 2
    assert tags["img"] == 0
    assert not [name for _, attributes in reader.tags for name in attributes if name.startswith("on")]


def test_the_details_of_runs_survive_inside_the_script_element(page: str) -> None:
    data, script = Reader(page).scripts
    assert script == resource("page.js")
    found = json.loads(data)
    run = found["runs"]["aaaaaaaa"]
    assert run["note"] == BREAKOUT
    assert run["tag"] == SPECIALS
    assert [found["shared"][index] for index in run["settings"]] == [["norm", SCRIPT], ["seed", 0]]
    assert run["metrics"]["train/loss"] == "nan"
    assert len(found["shared"]) == 4  # what two runs share is there once


def test_nothing_is_loaded_and_only_the_pages_own_script_may_run(page: str) -> None:
    reader = Reader(page)
    loading = [
        value
        for _, attributes in reader.tags
        for name, value in attributes.items()
        if name in ("src", "href", "xlink:href", "srcset", "action", "data", "poster") and value
    ]
    assert [value for value in loading if not value.startswith("#")] == ["data:,"]
    policy = next(attributes for tag, attributes in reader.tags if attributes.get("http-equiv"))["content"]
    assert policy
    assert "default-src 'none'" in policy
    assert f"script-src '{source_hash(resource('page.js'))}'" in policy
    assert "@import" not in page
    assert not re.findall(r"url\((?!#)", page)


def test_ids_are_unique_and_references_are_met(page: str) -> None:
    reader = Reader(page)
    ids = Counter(attributes["id"] for _, attributes in reader.tags if "id" in attributes)
    assert {name for name, count in ids.items() if count > 1} == set()
    asked = re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"|labelledby="([^"]+)"', page)
    assert {name for names in asked for name in names if name} <= set(ids)


def test_a_table_has_a_caption_heads_with_scope_and_sortable_columns(page: str) -> None:
    tags = Reader(page).tags
    heads = [attributes for tag, attributes in tags if tag == "th"]
    assert Counter(attributes["scope"] for attributes in heads) == {"col": 3, "row": 4}
    assert [attributes.get("aria-sort") for attributes in heads[:3]] == ["none"] * 3
    assert sum(tag == "caption" for tag, _ in tags) == 1


def test_plots_follow_the_pages_colors_and_have_a_mark_for_each_value(page: str) -> None:
    tags = Reader(page).tags
    marks = [attributes for tag, attributes in tags if tag == "circle" and attributes.get("class") == "mark"]
    assert len(marks) == 12
    assert marks[0]["data-text"] == f"{SCRIPT}, epoch 1: 10.00 ± 1.00 (n=2)"
    assert marks[0]["data-runs"] == "aaaaaaaa bbbbbbbb"
    svg = page[page.index("<svg") : page.index("</svg>")]
    assert "var(--group-0)" in svg
    assert "var(--ink)" in svg
    assert not re.findall(r"(?:fill|stroke)[:=] ?\"?#", svg)


def test_a_mark_stands_where_its_value_is_drawn(page: str) -> None:
    svg = page[page.index("<svg") : page.index("</svg>")]
    x, y = re.findall(r'class="mark" cx="([\d.]+)" cy="([\d.]+)"', svg)[0]
    markers = re.findall(r'<use [^>]*?x="([\d.]+)" y="([\d.]+)"[^>]*?var\(--group-0\)', svg)
    assert any(
        float(a) == pytest.approx(float(x), abs=0.1) and float(b) == pytest.approx(float(y), abs=0.1)
        for a, b in markers
    )


def test_text_between_tags_is_never_taken_for_a_reference() -> None:
    svg = (
        '<?xml?><svg width="1pt" height="2pt" viewBox="0 0 1 2"><text id="a">id="b" url(#c) fill: #0072b2</text></svg>'
    )
    found = '<svg viewBox="0 0 1 2"><text id="p-a">id="b" url(#c) fill: #0072b2</text></svg>'
    assert page_svg(svg, "p-") == found


@pytest.mark.parametrize(
    ("cell", "html"),
    [
        (Cell("a"), "<td>a</td>"),
        (Cell("1", 1.0), '<td data-value="1.0" class="numeric">1</td>'),
        (Cell("nan", float("nan")), '<td class="numeric">nan</td>'),
        (Cell("1", bold=True, underline=True), "<td><strong><u>1</u></strong></td>"),
        (Cell("1", runs=("a", "b")), '<td><button type="button" class="number" data-runs="a b">1</button></td>'),
    ],
)
def test_a_cell_says_what_it_is(cell: Cell, html: str) -> None:
    assert cell_html(cell, "td") == html


@given(st.text())
def test_any_text_is_read_back_from_the_content_of_an_element(text: str) -> None:
    safe = "".join(char for char in text if char not in "\r" and (char.isprintable() or ord(char) > 0x9F))
    assert Reader(f"<p>{escape(safe)}</p>").text == safe
    reader = Reader(f'<p title="{escape(text)}">')
    assert [tag for tag, _ in reader.tags] == ["p"]
    assert list(reader.tags[0][1]) == ["title"]


@settings(max_examples=30)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_json_is_read_back_from_a_script_element(value: object) -> None:
    text = to_json({"v": value, "end": QUOTES + BREAKOUT})
    assert not set("<>&") & set(text)
    assert json.loads(text)["v"] == value
