"""A training that does nothing for a tenth of a second, recorded as any other."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from normbench_cli.config import RunConfig
from normbench_cli.experiments.events import Callback
from normbench_cli.experiments.lifecycle import begin_run
from normbench_cli.experiments.recorded import recorded_result
from normbench_cli.experiments.result import RunResult
from normbench_cli.store import Store
from tests.experiments.executors.support import works

SECONDS = 0.1


@dataclass(frozen=True)
class Nap:
    config: RunConfig
    fingerprint: str
    run_id: str = ""
    status: str = "new"

    def run(self, store: Store, on_event: Callback) -> RunResult:
        record: dict[str, Any] = {"fingerprint": self.fingerprint, "details": {}, "instead_of": ""}
        run_id = begin_run(self.config, store, {"host": "here"}, **record)
        time.sleep(SECONDS)
        store.record(run_id, {"train/loss": 0.0}, epoch=1, step=1)
        store.end(run_id, "finished")
        return RunResult(run_id, "finished", self.config, fingerprint=self.fingerprint)

    def again(self, run_id: str, status: str, store: Store) -> Nap:
        return self

    def made(self, run_id: str, store: Store) -> RunResult:
        return recorded_result(run_id, store)


def naps(count: int) -> list[Nap]:
    return [Nap(work.config, work.fingerprint) for work in works(count)]
