"""Which tests execute which line, and how long each takes: from one run of the default and the slow tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from tests.mutation.faults import ROOT, Mutant

SECONDS_OF_TESTS = 240.0  # most that is run against one fault, by the tests' own durations


def load_map(path: Path | None) -> dict[str, Any]:
    """{"lines": {file: {line: [test, ...]}}, "seconds": {test: duration}} of the default and the slow tests."""
    if path and path.exists():
        return dict(json.loads(path.read_text()))
    with tempfile.TemporaryDirectory() as folder:
        data, times = f"{folder}/coverage", f"{folder}/times.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-m", "not benchmark", "-p", "no:cacheprovider"]
        command += ["-n", "2", "--cov=normbench_cli", "--cov-context=test", "--cov-report=", f"--junitxml={times}"]
        environment = os.environ | {"COVERAGE_FILE": data, "PYTHONPATH": str(ROOT)}
        subprocess.run(command, cwd=ROOT, env=environment, check=False)
        found = {"lines": covered(data), "seconds": durations(times)}
    if path:
        path.write_text(json.dumps(found))
    return found


def covered(data: str) -> dict[str, dict[str, list[str]]]:
    from coverage import CoverageData

    coverage = CoverageData(data)
    coverage.read()
    lines: dict[str, dict[str, list[str]]] = {}
    for name in coverage.measured_files():
        contexts = coverage.contexts_by_lineno(name)
        here = lines.setdefault(str(Path(name).relative_to(ROOT)), {})
        for line, tests in contexts.items():
            here[str(line)] = sorted({test.rpartition("|")[0] for test in tests} - {""})
    return lines


def durations(path: str) -> dict[str, float]:
    seconds: dict[str, float] = {}
    for case in ET.parse(path).iter("testcase"):
        file = case.get("classname", "").replace(".", "/") + ".py"
        seconds[f"{file}::{case.get('name')}"] = float(case.get("time", 1))
    return seconds


def tests_for(mutant: Mutant, tests: dict[str, Any]) -> list[str]:
    """Tests that execute the line (for a line that runs on import: the file); those of the mirrored test file first,
    then those of the same room, then the fastest."""
    lines, seconds = tests["lines"].get(mutant.path, {}), tests["seconds"]
    names = set(lines.get(str(mutant.line), [])) or {name for found in lines.values() for name in found}
    room, stem = Path(mutant.path).parts[1], Path(mutant.path).stem.strip("_")

    def rank(name: str) -> tuple[bool, bool, float]:
        file = name.partition("::")[0]
        return stem not in Path(file).stem, f"/{room}/" not in file, seconds.get(name, 1.0)

    chosen: list[str] = []
    total = 0.0
    for name in sorted(names, key=rank):
        total += seconds.get(name, 1.0)
        if total > SECONDS_OF_TESTS and chosen:
            break
        chosen.append(name)
    return chosen
