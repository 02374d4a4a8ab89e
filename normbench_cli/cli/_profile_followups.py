"""`normbench profile --compare RUN` and `--trace FILE`: what follows the measurements.  Loads torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from normbench_cli.cli._document import print_document
from normbench_cli.cli._output import echo, hint
from normbench_cli.experiments.profile import ProfilePlan, SweepPlan
from normbench_cli.experiments.profiling.plan import places
from normbench_cli.experiments.profiling.trace import check_trace_file, write_trace
from normbench_cli.reporting.profiles import compare
from normbench_cli.store import Store


class Afterwards:
    """The requested follow-ups, checked before anything is measured."""

    def __init__(self, plan: ProfilePlan | SweepPlan, store: Store, earlier: str, trace: Path | None) -> None:
        self._plan = plan
        self._store = store
        self._earlier = earlier
        self._trace = check_trace_file(trace) if trace else None
        self._then = compare.find_profile(store, earlier) if earlier else None
        if self._then and isinstance(plan, ProfilePlan):
            norms = [config.norm for config in plan.configs]
            compare.check_comparable(store, self._then, norms, [place.condition for place in places(plan)])
        self._made: compare.ProfileComparison | None = None

    def compare(self, run_ids: Mapping[str, str]) -> dict[str, object]:
        """What is added to the JSON document."""
        if self._then is None:
            return {}
        self._made = compare.compare_profiles(self._store, run_ids, self._then, self._earlier)
        return {"comparison": self._made.to_json()}

    def print(self) -> None:
        if self._made:
            echo("")
            print_document(compare.to_document(self._made))

    def write_trace(self, *, quiet: bool) -> None:
        if self._trace and isinstance(self._plan, ProfilePlan):
            write_trace(self._plan, self._trace)
            hint(f"written: {self._trace}", quiet)
