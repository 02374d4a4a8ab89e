"""The page in headless Chromium, from a folder: no error, no request; sorting, filtering, values, runs, themes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from normbench_cli.reporting.document import Document
from normbench_cli.reporting.html import to_html
from normbench_cli.reporting.html.page import ON_DARK
from normbench_cli.reporting.plots.style import PAPER
from tests.reporting.html.conftest import BREAKOUT, QUOTES, SCRIPT, SPECIALS

selenium = pytest.importorskip("selenium", reason='selenium is in the test extra: pip install -e ".[test]"')
CHROMIUM, DRIVER = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver: apt-get install chromium chromium-driver"
    ),
]
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,900")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for option in OPTIONS:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def page(browser: Any, document: Document, tmp_path: Path) -> Any:
    """The browser with the page just loaded."""
    path = tmp_path / "report.html"
    path.write_text(to_html(document), encoding="utf-8")
    browser.get("about:blank")
    browser.get_log("performance")
    browser.get(path.as_uri())
    browser.execute_script("try { localStorage.clear() } catch {}")
    return browser


def find(page: Any, selector: str) -> list[Any]:
    return list(page.find_elements("css selector", selector))


def names(page: Any) -> list[str]:
    """The first cell of each row that is shown."""
    return [row.text for row in find(page, "tbody tr:not([hidden]) th")]


def test_nothing_is_reported_to_the_console_and_nothing_requested(page: Any) -> None:
    find(page, "button.number")[0].click()
    assert page.get_log("browser") == []
    asked = [
        entry["message"] for entry in page.get_log("performance") if 'Network.requestWillBeSent"' in entry["message"]
    ]
    assert len(asked) == 1  # the page itself
    assert "report.html" in asked[0]
    assert page.title == f"Report {SCRIPT}"


def test_rows_are_sorted_by_number_and_those_without_stay_last(page: Any) -> None:
    button = find(page, "button.sort")[1]
    button.click()
    assert names(page) == [SPECIALS, SCRIPT, QUOTES, "none"]
    assert find(page, "thead th")[1].get_attribute("aria-sort") == "ascending"
    button.send_keys("\ue007")  # Enter
    assert names(page) == [QUOTES, SCRIPT, SPECIALS, "none"]
    find(page, "button.sort")[2].click()
    assert names(page) == [SCRIPT, SPECIALS, QUOTES, "none"]
    assert [head.get_attribute("aria-sort") for head in find(page, "thead th")] == ["none", "none", "ascending"]


def test_rows_are_filtered_by_words(page: Any) -> None:
    (field,), (count,) = find(page, "input[type=search]"), find(page, ".tools output")
    field.send_keys("10.2 ONERROR")
    assert names(page) == [QUOTES]
    assert count.text == "1 of 4 rows"
    field.clear()
    field.send_keys("x", "\ue003")  # Backspace
    assert len(names(page)) == 4
    assert count.text == "4 rows"


def test_a_number_opens_its_runs_with_all_details_as_text(page: Any) -> None:
    find(page, "button.number")[0].click()
    (dialog,) = find(page, "dialog[open]")
    assert f"2 runs of {SCRIPT}, score 9.50" in dialog.text
    for text in (BREAKOUT, SPECIALS, QUOTES, f"normbench train --note '{SCRIPT}'", "test/accuracy", '{"torch":"2.13"}'):
        assert text in dialog.text
    assert len(find(page, "dialog .curves svg polyline")) == 2
    assert find(page, "dialog script, dialog img") == []
    find(page, "#close")[0].click()
    assert find(page, "dialog[open]") == []


def test_the_values_of_a_plot_are_reached_by_mouse_and_by_keyboard(page: Any) -> None:
    from selenium.webdriver import ActionChains

    plot, mark, tip = find(page, "svg.plot")[0], find(page, "circle.mark")[2], find(page, "#tip")[0]
    ActionChains(page).move_to_element(mark).perform()
    assert tip.text == f"{SCRIPT}, epoch 3: 30.00 ± 1.00 (n=2)"
    for key, text in (
        ("\ue012", f"{SCRIPT}, epoch 2: 20.00 ± 1.00 (n=2)"),  # left
        ("\ue015", f"{QUOTES}, epoch 2: 50.00 ± 1.00 (n=2)"),  # down
        ("\ue014", f"{QUOTES}, epoch 3: 60.00 ± 1.00 (n=2)"),  # right
    ):
        plot.send_keys(key)
        assert tip.text == text
    plot.send_keys("\ue007")  # Enter
    assert len(find(page, "dialog[open] .run")) == 2


def test_the_theme_goes_from_the_systems_to_light_to_dark(page: Any) -> None:
    (button,) = find(page, "#theme")
    color = "return getComputedStyle(document.body).backgroundColor"
    shown = []
    for _ in range(3):
        shown.append((button.text, page.execute_script(color)))
        button.click()
    dark = f"rgb({', '.join(str(int(ON_DARK[PAPER][start : start + 2], 16)) for start in (1, 3, 5))})"
    assert shown == [
        ("Theme: system", "rgb(255, 255, 255)"),
        ("Theme: light", "rgb(255, 255, 255)"),
        ("Theme: dark", dark),
    ]


def test_a_dark_system_gets_a_dark_page_and_dark_plots(page: Any) -> None:
    line = "return getComputedStyle(document.querySelector('svg.plot path[style*=\"--group-0\"]')).stroke"
    light = page.execute_script(line)
    feature = {"name": "prefers-color-scheme", "value": "dark"}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    try:
        assert page.execute_script(line) != light
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_every_control_is_reached_by_the_keyboard_and_has_a_name(page: Any) -> None:
    controls = find(page, "button, input, summary, [tabindex='0']")
    named = [control for control in controls if control.is_displayed()]
    assert all(control.accessible_name for control in named)
    assert not [control for control in named if control.get_attribute("tabindex") == "-1"]
