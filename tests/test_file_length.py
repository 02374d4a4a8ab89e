"""Files stay short: one idea each."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_LINES = 250


def test_no_file_is_longer_than_250_lines() -> None:
    files = [path for room in ("normbench_cli", "migrations", "tests") for path in (ROOT / room).rglob("*.py")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert len(lengths) > 300
    assert not {name: length for name, length in lengths.items() if length > MOST_LINES}
