"""The bandwidth of this machine by working set size: measured once, and cached in the home folder.

The file holds an entry for each hardware.  A size is measured when it is first needed, and again when a layer seems to
be faster than the machine, because another program may have slowed down the first measurement.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import torch

from normbench_cli import paths
from normbench_cli.disk import write_text
from normbench_cli.experiments.profiling.threads import affinity
from normbench_cli.measure.bandwidth import Bandwidth, measure_bandwidth, neighbors
from normbench_cli.measure.failures import is_out_of_memory


class Roofline:
    """The bandwidths of one hardware, identified by device, number of threads and CPU affinity."""

    def __init__(self, facts: Mapping[str, Any], device: torch.device) -> None:
        identity = [facts["device_name"], facts["device"], facts["threads"], len(affinity())]
        self._key = ", ".join(map(str, identity))
        self._device = device
        self._bandwidth = Bandwidth(read_entries().get(self._key, {}))

    def least_ms(self, moved: int, working_set: int) -> float | None:
        """The least time to move this many bytes; None if there is not enough memory to measure it."""
        if missing := self._bandwidth.missing(working_set):
            self._measure(sorted(set(missing)))
        return None if self._bandwidth.missing(working_set) else self._bandwidth.least_ms(moved, working_set)

    def least_ms_again(self, moved: int, working_set: int) -> float | None:
        """The same after another measurement; the faster one counts."""
        self._measure(sorted(set(neighbors(working_set))))
        return self.least_ms(moved, working_set)

    def _measure(self, sizes: list[int]) -> None:
        """Measure sizes.  Only steady measurements are saved; others are used by this command alone."""
        try:
            measured = measure_bandwidth(sizes, self._device)
        except Exception as error:
            if is_out_of_memory(error):
                return
            raise
        self._bandwidth = self._bandwidth.with_faster(measured)
        entries = read_entries()
        steady = {size: self._bandwidth.bytes_per_s[size] for size in measured if measured[size].steady}
        write_entries({**entries, self._key: {**entries.get(self._key, {}), **steady}})


def read_entries() -> dict[str, dict[int, float]]:
    """Read bytes per second by size for each hardware, without damaged entries, which are measured again."""
    try:
        document = json.loads(paths.bandwidth_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    found = {}
    for key, entry in document.items() if isinstance(document, dict) else ():
        with suppress(ValueError, TypeError, AttributeError):
            sizes = {int(size): float(value) for size, value in entry.items()}
            if all(0 < value < float("inf") for value in sizes.values()):
                found[key] = sizes
    return found


def write_entries(entries: Mapping[str, Mapping[int, float]]) -> None:
    paths.bandwidth_file().parent.mkdir(parents=True, exist_ok=True)
    write_text(paths.bandwidth_file(), json.dumps(entries, indent=1) + "\n")
