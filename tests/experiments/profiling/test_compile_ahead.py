"""Peak memory is asked for once for each contender and place, in an order that shares the compiling."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from normbench_cli.experiments.profiling import compile_ahead
from normbench_cli.experiments.profiling.compile_ahead import compile_and_find_peaks
from normbench_cli.experiments.profiling.plan import places, plan_profile
from normbench_cli.measure.peak import Peak, PeakProcess

NORMS = ["batchnorm", "popnorm"]
ROWS = {(norm, rows): 100 * rows + len(norm) for norm in ["none", *NORMS] for rows in range(1, 20)}


class Pretended(PeakProcess):
    """Answers with a number for each norm and shape, in the order of the questions."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, int]] = []
        self.open: deque[Peak] = deque()
        self.most_open = 0

    def send(self, job: dict[str, Any]) -> None:
        self.asked.append((job["norm"], job["case"]["shape"][0]))
        self.open.append(Peak(ROWS[self.asked[-1]]))
        self.most_open = max(self.most_open, len(self.open))

    def receive(self) -> Peak:
        return self.open.popleft()


@pytest.mark.parametrize("count", [1, 2, 5, 19])
@pytest.mark.parametrize("queued", [64, 7])
def test_each_answer_is_its_contenders_at_its_place(
    count: int, queued: int, monkeypatch: pytest.MonkeyPatch, home: object
) -> None:
    compiled = list[int]()
    monkeypatch.setattr(compile_ahead, "QUEUED", queued)
    monkeypatch.setattr(compile_ahead, "compile_place", lambda _, place: compiled.append(place.case.shape[0]))
    plan = plan_profile(NORMS, shapes=[(rows, 4, 2, 2) for rows in range(1, count + 1)], memory=True, only="layers")
    process = Pretended()
    found = compile_and_find_peaks(plan, process, lambda: None)
    expected = [
        {config.norm: ROWS[config.norm, place.case.shape[0]] for config in plan.configs}
        for place in places(plan)
        if place.case
    ]
    assert [{norm: peak.bytes for norm, peak in each.items()} for each in found] == expected
    assert len(set(process.asked)) == len(process.asked) == len(plan.configs) * count
    assert process.most_open <= max(queued, len(plan.configs))
    assert compiled == list(range(1, (count + 1) // 2 + 1))
