"""The ways to measure a layer: their names, and what is compiled in them."""

from __future__ import annotations

import json
import os

import pytest

from normbench_cli.measure.cases import LayerCase, calling


def test_a_label_is_the_shape_and_what_is_not_as_usual() -> None:
    assert LayerCase((8, 4, 6, 6)).label == "8x4x6x6"
    case = LayerCase((8, 4), "bfloat16", "channels_last", "compiled", "eval")
    assert case.label == "8x4+bfloat16+channels_last+compiled+eval"


def test_a_case_goes_through_json() -> None:
    case = LayerCase((8, 4, 6, 6), "float64", timed="forward")
    assert LayerCase.from_dict(json.loads(json.dumps(case.to_dict()))) == case


@pytest.mark.parametrize("before", [None, "always"])
def test_only_an_eager_call_forbids_compiling_and_only_for_a_while(
    before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if before:
        monkeypatch.setenv("NORMBENCH_COMPILE", before)
    else:
        monkeypatch.delenv("NORMBENCH_COMPILE", raising=False)
    for call, within in (("eager", "never"), ("layer", before), ("compiled", before)):
        with calling(call):
            assert os.environ.get("NORMBENCH_COMPILE") == within
        assert os.environ.get("NORMBENCH_COMPILE") == before
