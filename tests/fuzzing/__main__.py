"""Try cases outside of the test suite: see the package's docstring."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from tests.fuzzing.kinds import KINDS, Case, cases, make_input
from tests.fuzzing.sandbox import Sandbox


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing")
    parser.add_argument("names", nargs="*", help="cases, as filter:17")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--kind", choices=list(KINDS), default="")
    return parser.parse_args()


def main() -> int:
    given = parsed()
    named = [Case(kind, int(seed)) for kind, _, seed in (name.partition(":") for name in given.names)]
    seconds, counts, broken = defaultdict[str, float](float), Counter[str](), 0
    with tempfile.TemporaryDirectory() as folder:
        sandbox = Sandbox(Path(folder).resolve())
        with sandbox.entered():
            for case in named or cases(given.first, given.count, given.kind):
                if named:
                    sandbox.restore()
                    print(case, make_input(case, sandbox.root, sandbox.run_ids), file=sys.stderr)
                began = time.process_time()
                for line in sandbox.try_case(case):
                    broken += 1
                    print(line, flush=True)
                took = time.process_time() - began
                seconds[case.kind] += took
                counts[case.kind] += 1
                if counts.total() % 500 == 0:
                    print(
                        f"{counts.total()} cases: {dict(counts)}, {sum(seconds.values()):.0f} s",
                        file=sys.stderr,
                        flush=True,
                    )
                if took > 3:
                    print(f"slow: {case}: {took:.1f} s", flush=True)
    for kind, count in counts.items():
        print(f"{kind}: {count} cases, {seconds[kind]:.1f} s, {1000 * seconds[kind] / count:.0f} ms each")
    return min(broken, 1)


if __name__ == "__main__":
    sys.exit(main())
