"""What the compiler of the layers is told."""

from __future__ import annotations

import platform

import pytest
from torch._inductor import config

from normbench_cli.norms import _compile


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have one kind of vector instructions")
@pytest.mark.parametrize(("compiler", "trusted"), [("true", True), ("false", False), ("is-not-there", False)])
def test_a_compiler_is_trusted_that_knows_the_instructions(
    monkeypatch: pytest.MonkeyPatch, compiler: str, trusted: bool
) -> None:
    monkeypatch.setattr("torch._inductor.cpp_builder.get_cpp_compiler", lambda: compiler)
    with config.patch({"cpp.vec_isa_ok": None}):
        assert _compile._settings.__wrapped__() == ({"cpp.vec_isa_ok": True} if trusted else {})


@pytest.mark.parametrize("decided", [True, False])
def test_the_users_word_stands(decided: bool) -> None:
    with config.patch({"cpp.vec_isa_ok": decided}):
        assert _compile._settings.__wrapped__() == {}
