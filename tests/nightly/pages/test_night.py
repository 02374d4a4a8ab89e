"""The page of a night: everything that a reader asks for is there, and nothing where nothing happened."""

from __future__ import annotations

from dataclasses import replace

from normbench_cli.nightly.pages.night import night_document
from normbench_cli.reporting.document import Document, Figure, Paragraph, Table
from normbench_cli.reporting.html import to_html
from normbench_cli.reporting.writers.markdown import to_markdown
from tests.nightly.pages.nights import BUMP, MEASUREMENTS, STEP, judged, killed, night, nights
from tests.reporting.documents import NASTY

FAILED = {"resnet20/ggm": "there is no norm 'ggmm'"}
LEFT_OUT = {"resnet20/graphnorm": "no time was left of 5m"}


def document(number: int = 11, **changes: object) -> Document:
    return night_document([*nights(number), night(number, **changes)], "n", {"database": "a.db"})


def tables(document: Document) -> dict[str, Table]:
    return {block.title: block for block in document.blocks if isinstance(block, Table)}


def row(table: Table) -> dict[str, str]:
    return dict(zip(table.columns, (cell.text for cell in table.rows[0]), strict=True))


def test_the_verdict_is_the_first_sentence_of_both_files() -> None:
    page = document()
    sentence = (
        "1 regression (resnet20/popnorm step_time_ms +12.3 % since 2026-11-16), 5 measurements, 1 improved, 1 muted."
    )
    assert page.lead == sentence
    assert to_markdown(page).splitlines()[2].replace("\\", "") == f"**{sentence}**"
    html = to_html(page)
    assert (
        html.index(f'<p class="lead">{sentence}</p>')
        < html.index("<main>")
        < html.index("How to reproduce this report")
    )


def test_a_regression_says_since_when_between_which_commits_by_how_much_and_how_it_was_confirmed() -> None:
    assert row(tables(document())["Regressions"]) == {
        "measurement": "resnet20/popnorm step_time_ms",
        "value": "13.93 ms",
        "band": "11.90 to 12.90 ms",
        "change": "+12.3 %",
        "since": "2026-11-16",
        "between commits": "888888888..999999999",
        "measured again": "14.06, 13.79, 13.93 ms (median 13.93 ms)",
        "why": "outside the band, also when measured again",
    }


def test_the_commands_that_settle_it_can_be_copied() -> None:
    commands = [block.command for block in document().blocks if isinstance(block, Paragraph)]
    name = "'resnet20/popnorm step_time_ms'"
    assert commands == [
        f"normbench nightly bisect {name} --suite canary --good 888888888888 --bad 999999999999",
        f"normbench nightly accept {name} --suite canary --reason WHY",
        f"normbench nightly mute {name} --suite canary --until DATE --reason WHY",
    ]
    assert f"$ {commands[0]}\n" in to_markdown(document())


def test_the_commands_name_the_file_of_a_suite_of_ones_own() -> None:
    page = document(suite="mine", suite_file="/suites of me/mine.toml")
    commands = [block.command for block in page.blocks if isinstance(block, Paragraph)]
    assert all(" --suite '/suites of me/mine.toml' " in command for command in commands)


def test_what_else_happened_has_a_table_each() -> None:
    found = tables(document(failed=FAILED, left_out=LEFT_OUT))
    assert row(found["Improvements"])["change"] == "-20.0 %"
    muted = row(found["Muted"])
    assert (muted["muted until"], muted["reason"]) == ("2026-12-01", "known: the buffer is being rewritten")
    missing = [[cell.text for cell in cells] for cells in found["Cells without a result"].rows]
    assert missing == [
        ["resnet20/ggm", "failed", FAILED["resnet20/ggm"]],
        ["resnet20/graphnorm", "left out", LEFT_OUT["resnet20/graphnorm"]],
    ]
    assert len(found["All measurements"].rows) == len(MEASUREMENTS)


def test_a_withdrawn_regression_has_a_table_of_its_own() -> None:
    one = judged(STEP, 5)
    finding = replace(one.finding, status="withdrawn", reason="withdrawn: not confirmed on 2026-11-13", known=True)
    found = tables(document(5, judged=(replace(one, finding=finding),)))
    assert row(found["Withdrawn"])["why"] == "withdrawn: not confirmed on 2026-11-13"
    assert "Regressions" not in found


def test_a_fine_night_has_no_empty_tables() -> None:
    page = document(7)
    assert list(tables(page)) == ["All measurements", "Environment"]
    assert page.title == "Night of 2026-11-15, canary: fine"
    assert not [block for block in page.blocks if isinstance(block, Paragraph)]


def test_a_new_version_begins_baselines_and_says_which() -> None:
    found = tables(document(BUMP))
    assert row(found["New baselines"])["why"] == "torch 2.12.0 -> 2.13.0"
    assert row(found["New baselines"])["measurements"] == "5"
    environment = {cells[0].text: cells for cells in found["Environment"].rows}
    assert [cell.text for cell in environment["torch"]] == ["torch", "2.13.0", "2.12.0"]
    assert environment["torch"][1].bold
    assert not environment["numpy"][1].bold


def test_each_cell_has_a_plot_and_each_change_one_of_its_own() -> None:
    figures = [block for block in document().blocks if isinstance(block, Figure)]
    assert [(figure.title, figure.name) for figure in figures] == [
        ("resnet20/popnorm step_time_ms", "n-1"),
        ("layer/augnorm step_time_ms", "n-2"),
    ]
    figures = [block for block in document(7).blocks if isinstance(block, Figure)]
    assert [(figure.title, figure.name) for figure in figures] == [
        ("resnet20/popnorm step_time_ms", ""),
        ("layer/augnorm step_time_ms", ""),
    ]


def test_the_first_night_and_one_that_measured_nothing_have_pages() -> None:
    assert (
        tables(night_document([night(0)], "n", {}))["New baselines"].rows[0][0].text
        == "the first night of this measurement"
    )
    nothing = night_document([killed(0), night(1, judged=(), failed=FAILED)], "n", {})
    assert nothing.lead == "Nothing was measured, 1 cell failed."


def test_any_text_of_a_suite_is_shown_as_it_is() -> None:
    one = judged(MEASUREMENTS[0], 11)
    odd = replace(one.finding.measurement, cell=NASTY)
    page = document(
        judged=(replace(one, finding=replace(one.finding, measurement=odd, reason=NASTY)),), failed={NASTY: NASTY}
    )
    html = to_html(page)
    assert "<script>alert(1)" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "\n# " not in to_markdown(page).removeprefix("# ")
