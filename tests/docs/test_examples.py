"""The examples of the pages work: components of one's own train from the command line, Python examples run."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from tests.support import RunCommand

DOCS = Path(__file__).parents[2] / "normbench_cli" / "docs"
COMPONENTS = re.findall(
    r"<!-- example: (\S+), (.+?) -->\n```python\n(.*?)```", (DOCS / "your-own.md").read_text(), re.S
)
SETTINGS = {"--data": "digits:size=8", "--iterations": "2"}


def write(folder: Path, file: str, code: str) -> None:
    (folder / file).write_text(code)


@pytest.mark.parametrize(("file", "command", "code"), COMPONENTS, ids=[file for file, _, _ in COMPONENTS])
def test_a_component_of_ones_own_trains(
    file: str, command: str, code: str, normbench: RunCommand, tmp_path: Path
) -> None:
    write(tmp_path, file, code)
    words = shlex.split(command)
    if "--epochs" not in words:
        words += [word for option in SETTINGS.items() if option[0] not in words for word in option]
    ended = normbench(*words, "-q")
    assert ended.code == 0, ended.err
    assert "finished" in ended.out


def test_the_suite_of_ones_own_is_reproduced(normbench: RunCommand, tmp_path: Path) -> None:
    text = (DOCS / "reproduce.md").read_text()
    ((file, command, code),) = re.findall(r"<!-- example: (\S+), (.+?) -->\n```toml\n(.*?)```", text, re.S)
    write(tmp_path, file, code)
    ended = normbench(*shlex.split(command), "-q")
    assert ended.code == 0, ended.err
    assert "97.40 ± 0.20" in ended.out
    assert "suspect: read off a plot" in ended.out


def test_an_installed_norm_is_found_by_its_entry_point_and_keeps_its_placement(
    normbench: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = [code for file, _, code in COMPONENTS if file == "mynorms.py"]
    site = tmp_path / "site"
    package = site / "mypackage"
    package.mkdir(parents=True)
    write(package, "__init__.py", "")
    write(package, "norms.py", code)
    info = site / "mypackage-1.0.dist-info"
    info.mkdir()
    write(info, "METADATA", "Metadata-Version: 2.1\nName: mypackage\nVersion: 1.0\n")
    write(info, "entry_points.txt", "[normbench.norms]\nprescale = mypackage.norms:Prescale\n")
    monkeypatch.syspath_prepend(str(site))
    from normbench_cli.registry import NORMS

    monkeypatch.delitem(vars(NORMS), "entries", raising=False)  # the registry has looked for entry points before
    try:
        ended = normbench("train", "--norm", "prescale", "--model", "mlp", "--dry-run", "--json")
        assert ended.code == 0, ended.err
        assert re.findall(r'"placement": "(\w+)"', ended.out)[:1] == ["before"]
    finally:
        vars(NORMS).pop("entries", None)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["python.md"])
def test_the_python_examples_run(
    page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.S))
    values: dict[str, object] = {}
    exec(compile(code, page, "exec"), values)
    assert capsys.readouterr().out.count("finished") == 4  # what the example itself prints, and nothing else
    assert os.listdir() == [] or "reports" not in os.listdir()
