"""The measuring process of `nightly bisect`: one cell, as often as requested, with one commit's code.

``python -m normbench_cli.nightly.bisect.measure_one``, started by `worker`.  The bisecting program and the commit that
measures may be years apart, so the protocol between them is fixed: lines of JSON.  The first line on stdin is a
`Request`; each further line asks for one measurement and is answered by ``{"value": ..., "files": [...]}`` or
``{"error": ...}``.  files: of the loaded modules.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from normbench_cli.errors import NormbenchError, first_sentence
from normbench_cli.nightly.cells import measure_cell
from normbench_cli.nightly.suite import read_suite
from normbench_cli.store import Store


def answers(request: dict[str, Any], asked: TextIO) -> Iterator[dict[str, Any]]:
    """Yield an answer to each line; an error is the last one."""
    try:
        cell = read_suite(request["suite"]).cell(request["cell"])
        with Store.open() as store:
            for _ in asked:
                values = measure_cell(cell, store)
                if request["metric"] not in values:
                    yield {"error": f"the cell does not measure {request['metric']}"}
                    return
                yield {"value": float(values[request["metric"]]), "files": loaded_files()}
    except Exception as error:  # an old commit may fail in any way, and is then skipped
        ours = isinstance(error, NormbenchError)
        yield {"error": str(error) if ours else f"{type(error).__name__}: {first_sentence(error)}"}


def loaded_files() -> list[str]:
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return sorted({file for file in files if isinstance(file, str)})


def main() -> None:
    answer_to = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of the measured code is not an answer
    for answer in answers(json.loads(sys.stdin.readline()), sys.stdin):
        print(json.dumps(answer), file=answer_to, flush=True)


if __name__ == "__main__":
    main()
