"""The built wheel works by itself, outside the checkout, and makes and upgrades its own database."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment that holds the wheel; its dependencies are borrowed from this one."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], check=True)
    python = folder / "env" / "bin" / "python"
    (wheel,) = folder.glob("*.whl")
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    (site,) = (folder / "env").glob("lib/python*/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_paths()["purelib"])
    return python


@pytest.mark.slow
def test_the_installed_program_does_its_work(python: Any, tmp_path: Path) -> None:
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*words: str) -> str:
        command = [python, "-m", "normbench_cli", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=outside)
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = [python, "-c", "import normbench_cli; print(normbench_cli.__file__)"]
    assert (
        "site-packages"
        in subprocess.run(where, cwd=tmp_path, capture_output=True, text=True, check=True, env=outside).stdout
    )
    assert "ok" in run("doctor")
    assert "finished" in run("train", "--data", "digits:size=8", "--iterations", "2", "--norm", "batchnorm")
    assert "batchnorm" in run("report")
    run("db", "upgrade")
    run("db", "check")
