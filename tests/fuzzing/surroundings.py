"""Odd surroundings: environment variables, files in the home and data folders, the working folder's own."""

from __future__ import annotations

import random
from pathlib import Path

from tests.fuzzing.words import NASTY, damaged_bytes

PLACES = ["NORMBENCH_HOME", "NORMBENCH_DB", "NORMBENCH_DATA"]
ODD_PLACES = ["file.txt", "file.txt/x", "readonly", "readonly/x", "a b/ü%?#&=", "~", ".", "x" * 300, "x/" * 200, *NASTY]
OTHERS = {
    "NORMBENCH_COMPILE": ["always ", "x", "", "NEVER"],
    "COLUMNS": ["0", "-1", "x", "99999999999", ""],
    "LINES": ["x", "-1"],
    "TZ": ["x", ":", "/dev/null", "UTC+99", "Europe/Berlin", ""],
    "TERM": ["dumb", "", "x"],
    "NO_COLOR": ["1", ""],
    "TORCHINDUCTOR_CACHE_DIR": ["file.txt", "", "inductor"],
    "MPLCONFIGDIR": ["file.txt", "", "fonts"],
    "LC_ALL": ["C", "x", "de_DE"],
    "HOME": ["", "nowhere", "/dev/null"],
    "XDG_DATA_HOME": ["", "relative"],
    "_NORMBENCH_COMPLETE": ["x", "complete_bash", "sourced", "_"],
    "COMP_WORDS": ["normbench train --norm ", "normbench '"],
    "COMP_CWORD": ["1", "x", "-5"],
}
LINES = [
    *(["runs", "list"], ["runs", "list", "--json"], ["runs", "show", "RUN"], ["report"], ["report", "--json"]),
    *(["db", "check"], ["db", "path"], ["db", "upgrade"], ["db", "backup"], ["list", "norms"], ["list", "allowed"]),
    *(["list", "suites", "-q"], ["report", "--format", "md,csv,html"], ["compare", "RUN", "RUN"]),
    ["runs", "rm", "RUN", "--yes"],
]
USING_FILES = [
    *(["eval", "RUN"], ["eval", "RUN", "--json"], ["train", "--resume", "RUN"], ["list", "allowed"]),
    ["runs", "list", "--where", "norm=nowhere:Thing"],
    ["report", "--where", "norm=torch.nn:LayerNorm"],
]
TINY = ["train", "--model", "mlp:width=8", "--data", "digits:size=8", "--batch-size", "64", "--iterations", "1"]


def environment(rng: random.Random) -> dict[str, str | None]:
    """Variables with odd values; None: not set."""
    made: dict[str, str | None] = {}
    for name in rng.sample([*PLACES, *PLACES, *OTHERS], rng.choice([1, 1, 2, 3])):
        made[name] = rng.choice([None, *OTHERS[name]] if name in OTHERS else ODD_PLACES)
    return {name: value for name, value in made.items() if value is None or "\0" not in value}


def damage_files(home: Path, work: Path, rng: random.Random) -> None:
    """Damage files that normbench keeps beside the database, or put something odd in their places."""
    kept = [path for path in sorted(home.rglob("*")) if path.is_file() and not path.name.startswith("normbench.db")]
    made = [home / "allowed-packages.txt", home / "file-hashes.json", home / "runs" / "00000000" / "x"]
    for path in rng.sample([*kept, *made], rng.choice([1, 1, 2])):
        content = path.read_bytes() if path.exists() else rng.choice(NASTY).encode("utf-8", "surrogateescape")
        if rng.random() < 0.15:
            path.unlink(missing_ok=True)
            path.mkdir(parents=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(damaged_bytes(content, rng))
    if rng.random() < 0.2:
        (work / "reports").write_text("a file in place of the folder")


def surrounded_line(
    home: Path, work: Path, rng: random.Random, run_ids: list[str]
) -> tuple[list[str], dict[str, str | None]]:
    """A command, and its environment."""
    (work / "file.txt").write_text("not a folder")
    (work / "readonly").mkdir(mode=0o555)
    if rng.random() < 0.4:
        damage_files(home, work, rng)
        chosen, variables = rng.choice(USING_FILES), dict[str, str | None]()
    elif rng.random() < 0.15:
        chosen, variables = [*TINY, "--tag", rng.choice(NASTY) or "x", "--note", rng.choice(NASTY)], {}
    else:
        chosen, variables = rng.choice([*LINES, TINY]), environment(rng)
    run = rng.choice(run_ids)
    return [run if word == "RUN" else word for word in chosen], variables
