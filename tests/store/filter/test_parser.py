"""The grammar of filters: what is understood, and where an error is."""

from __future__ import annotations

from typing import Any

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.store.filter import parse_filter, parse_where
from normbench_cli.store.filter.expression import Comparison
from normbench_cli.store.filter.parser import MOST_NESTED

ROW: dict[str, Any] = {
    "norm": "popnorm:kappa=8",
    "act": "relu",
    "data": "folder:path=my pictures (1)",
    "seed": 3,
    "note": "trial and error",
    "status": "finished",
    "test/accuracy": 0.93,
    "test/accuracy@bim:eps=0.03": 0.4,
    "extra": 1.0,
}


@pytest.mark.parametrize(
    "text",
    [
        "seed=3",
        "norm=popnorm:kappa=8.0",
        " norm = popnorm:kappa=8 ",
        "data='folder:path=my pictures (1)' and seed=3",
        "note='trial and error'",
        'note = "trial and error" and seed==3',
        "note != '' and note =  'trial and error'",
        "act =  'relu'",
        "norm in (batchnorm, popnorm:kappa=8)",
        "norm in(batchnorm,popnorm:kappa=4,remove=none,popnorm:kappa=8)",
        "norm in ('popnorm:kappa=8', bn) AND NOT seed > 3",
        "norm not in (bn, in) and act not like 'sig%'",
        "norm = in or seed <> 4",
        "not not seed=3",
        "not(seed=1 or seed = 2)and seed!=4",
        "seed=1 or seed=3 and act=relu",
        "not seed=1 and act=relu",
        "test/accuracy > 0.9 and test/accuracy<95%",
        "test/accuracy@bim:eps=0.03=0.4 and test/accuracy@bim:eps=0.03>0.3",
        '"extra" >= 1',
        "'test/accuracy'>0.9",
        "((((seed=3))))",
        "note like 'TRIAL%' and note like '%_error'",
        "test/loss = none and not test/loss > 0",
    ],
)
def test_these_filters_hold(text: str) -> None:
    assert parse_filter(text).matches(ROW)
    assert not parse_filter(f"not ({text})").matches(ROW)


@pytest.mark.parametrize(
    ("text", "at", "says"),
    [
        ("norm=bn nad seed<3", 9, "did you mean 'and'"),
        ("seed=1 and nrm=bn", 12, "did you mean 'norm'"),
        ("seed=1 and status=finishd", 12, "did you mean 'finished'"),
        ("seed=1 or norm=popnrm", 11, "did you mean 'popnorm'"),
        ("seed=1 or norm=popnorm:kapa=2", 11, "did you mean 'kappa'"),
        ("seed", 5, "expected an operator after seed"),
        ("seed not = 3", 10, "write in or like"),
        ("seed <", 7, "expected a value"),
        ("seed < and act=relu", 8, "expected a value"),
        ("norm in (bn,)", 13, "expected a value"),
        ("norm in ()", 10, "expected a value"),
        ("norm in bn", 9, "not followed by a list"),
        ("norm in (bn relu)", 13, "comma"),
        ("norm='bn", 6, "not closed"),
        ("(seed=1", 1, "not closed"),
        ("seed = 1)", 9, "expected 'and', 'or' or the end"),
        ("", 1, "expected a setting or metric"),
        ("and", 1, "expected a setting or metric"),
        ("seed=1 and ''=2", 12, "not the name"),
        ("act<3", 1, "numbers and times"),
        ("seed<x", 1, "not a number"),
        ("seed<none", 1, "with a number"),
        ("started_at>yesterday", 1, "not a time"),
        ("seed like '3'", 1, "like compares text"),
        ("extra > 1", 1, "in quotes"),
        ("note='x'; DROP TABLE runs", 9, "expected 'and', 'or' or the end"),
        ("__import__('os').system('true')", 1, "no setting"),
        ("(" * 5000 + "seed=1" + ")" * 5000, MOST_NESTED + 1, "parentheses"),
    ],
)
def test_an_error_is_one_line_and_points_at_its_place(text: str, at: int, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_filter(text).matches(ROW)
    assert f"at character {at} of the filter" in str(caught.value)
    assert says in str(caught.value)
    assert len(str(caught.value)) < 1000
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("text", "says"), [("nrm=bn", "there is no setting 'nrm'; did you mean 'norm'"), ("norm", "key=value")]
)
def test_a_wrong_name_is_found_before_any_row_is_read(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_where([text])


@pytest.mark.parametrize(
    ("texts", "matches"),
    [
        ([], True),
        (["seed=1", "seed=3"], True),
        (["seed=1", "act=relu"], False),
        (["seed=1", "seed=3", "act=relu"], True),
        (["seed in (1)", "seed=3"], False),
        (["seed<4", "seed>2", "act=relu"], True),
        (["seed<4 or seed>7", "act=tanh"], False),
    ],
    ids=str,
)
def test_several_filters_hold_together_but_a_key_given_twice_accepts_both(texts: list[str], matches: bool) -> None:
    found = parse_where(texts)
    assert found.matches(ROW) is matches
    assert bool(found) is bool(texts)


def test_a_plain_value_may_hold_what_an_expression_would_read() -> None:
    plain = {"note=a < b (c)": ("note", "a < b (c)"), "tag=x=y": ("tag", "x=y"), "tag=": ("tag", "")}
    for text, (name, value) in plain.items():
        assert parse_filter(text).root == Comparison(name, "=", (value,))


def test_a_path_with_blanks_is_found_in_the_spelling_recorded() -> None:
    assert parse_filter("data=folder:path=my pictures (1)").matches(ROW)


def test_long_chains_need_no_depth() -> None:
    assert parse_filter(" and ".join(["seed=3"] * 5000)).matches(ROW)
    assert parse_filter("not " * 5000 + "seed=3").matches(ROW)
    assert parse_filter("(" * MOST_NESTED + "seed=3" + ")" * MOST_NESTED).matches(ROW)
