"""What a comparison means for numbers, times, texts and specs."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from datetime import datetime, timedelta
from typing import Any

import pytest

from normbench_cli.config import FIELDS
from normbench_cli.errors import UsageError
from normbench_cli.store.filter import parse_filter
from normbench_cli.store.filter.values import COLUMNS, kind_of, like

NOON = datetime(2026, 11, 19, 12, 0, 30).astimezone()


def matches(text: str, value: Any) -> bool:
    found = parse_filter(text)
    return found.matches({found.names[0]: value})


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("started_at = 2026-11-19", True),
        ("started_at = 2026-11-20", False),
        ("started_at < 2026-11-19", False),
        ("started_at <= 2026-11-19", True),
        ("started_at > 2026-11-19", False),
        ("started_at >= 2026-11-19", True),
        ("started_at > 2026-11-18", True),
        ("started_at = '2026-11-19 12:00'", True),
        ("started_at = 2026-11-19T12:00:29", False),
        ("started_at < '2026-11-19 12:01'", True),
        ("started_at in (2026-11-18, 2026-11-19)", True),
    ],
)
def test_a_day_or_a_minute_is_compared_as_a_whole(text: str, holds: bool) -> None:
    assert matches(text, NOON) is holds
    assert not matches(text, None)


def test_a_time_may_have_a_zone() -> None:
    moment = datetime.fromisoformat("2026-11-19T12:00:00+02:00")
    assert matches("started_at = 2026-11-19T10:00:00Z", moment)
    assert not matches("started_at = 2026-11-19T12:00:00Z", moment + timedelta(seconds=1))


@pytest.mark.parametrize("value", ["9999-12-31", "2026-13-01", "2026-1-1", "noon", "2026-01-01T"])
def test_what_is_not_a_time_is_refused(value: str) -> None:
    with pytest.raises(UsageError, match="is not a time"):
        matches(f"started_at = {value}", NOON)


@pytest.mark.parametrize(
    ("text", "value", "holds"),
    [
        ("seed<2.5", 2, True),
        ("seed<1e400", 2, True),
        ("seed>=2", 2, True),
        ("seed<3", None, False),
        ("seed!=3", None, True),
        ("seed<3", "2", False),
        ("lr=1e-1", 0.1, True),
        ("compile=true", True, True),
        ("compile=none", None, True),
        ("train/loss=nan", float("nan"), True),
        ("train/loss<1", float("nan"), False),
        ("train/loss=none", float("nan"), False),
        ("train/loss=none", None, True),
        ("test/accuracy>=50%", 0.5, True),
        ("act in (relu, sigmoid)", "relu", True),
        ("norm=ws+gn:groups=8", "weightstandardization+groupnorm:groups=8", True),
        ("norm=in", "instancenorm", True),
        ("optimizer=adam", "adam", True),
        ("id='ab12cd34'", "ab12cd34", True),
    ],
)
def test_values_are_read_as_their_column_has_them(text: str, value: Any, holds: bool) -> None:
    assert matches(text, value) is holds


@pytest.mark.parametrize(
    ("pattern", "text", "holds"),
    [
        ("", "", True),
        ("", "a", False),
        ("%", "", True),
        ("a%", "Abc", True),
        ("%c", "abc", True),
        ("%b%", "abc", True),
        ("a%b%c", "a-b-c", True),
        ("a%b%b", "ab", False),
        ("%ab", "aab", True),
        ("a_c", "abc", True),
        ("a_c", "ac", False),
        (r"100\%", "100%", True),
        (r"100\%", "1000", False),
        (r"a\_b", "a_b", True),
        (r"a\_b", "axb", False),
        (r"a\\%", r"a\bc", True),
        ("a.c", "abc", False),
        ("a%\nb", "a\n\nb", True),
        ("a", None, False),
    ],
)
def test_patterns(pattern: str, text: str | None, holds: bool) -> None:
    assert like("note", pattern)(text) is holds


def test_no_pattern_takes_long() -> None:
    """A search that tries every way would not end."""
    assert not like("note", "%a" * 30 + "b")("a" * 5000)


def test_every_column_has_a_kind() -> None:
    kinds = {name: kind_of(name) for name in (*FIELDS, *COLUMNS, "test/accuracy")}
    assert {kinds[name] for name in ("seed", "epochs", "lr", "test/accuracy")} == {"number"}
    assert {kinds[name] for name in ("norm", "note", "optimizer", "id")} == {"text"}
    assert (kinds["started_at"], kinds["compile"]) == ("time", "bool")


def test_filters_on_any_component_and_parameter_load_no_torch() -> None:
    """Also for specs that are not recorded in the same form, whose parameters must be read."""
    code = """
        import sys
        from normbench_cli.config import REGISTRIES
        from normbench_cli.registry.spec import join_spec
        from normbench_cli.store.filter.values import read_settings

        for setting, registry in REGISTRIES.items():
            for name, entry in registry.entries.items():
                texts = [name, *(join_spec(name, {key: value}) for key, value in entry.defaults.items() if value != "")]
                assert len(read_settings(setting, texts, [])) == len(texts)
        assert "torch" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


@pytest.mark.parametrize("text", ["norm = 'this:x' and seed=0", "norm in (bn, 'ws+this:x')"])
def test_an_expression_imports_no_code(text: str) -> None:
    before = set(sys.modules)
    assert not parse_filter(text).matches({"norm": "none", "seed": 0})
    assert "this" not in set(sys.modules) - before
