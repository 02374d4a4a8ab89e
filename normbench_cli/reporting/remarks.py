"""The remarks recorded with runs, as notes of a report: each once, with the runs that it concerns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from normbench_cli.store.thin import one_of

NAMED = 3  # a note lists at most this many runs, else their number


def remark_notes(details: Mapping[str, Mapping[str, Any]], runs: int) -> list[str]:
    """details: the recorded details of each run, by id; runs: how many there are, including those without."""
    about: dict[str, list[str]] = {}
    for run_id, found in details.items():
        said = (*texts(found.get("remarks")), *varying_parameters(found.get("norm_layers")), *thinned(found))
        for remark in said:
            about.setdefault(remark, []).append(run_id)
    return [f"{remark} ({which(ids, runs)})." for remark, ids in about.items()]


def texts(remarks: object) -> list[str]:
    return [str(remark) for remark in remarks] if isinstance(remarks, list) else []


def thinned(found: Mapping[str, Any]) -> list[str]:
    """A note if raw series were thinned by `db thin`."""
    every = one_of(found)
    return [f"Raw series are thinned to one value of {every}"] if every > 1 else []


def varying_parameters(norm_layers: object) -> Iterator[str]:
    """A sentence for each norm and parameter in which its layers differ."""
    kinds = [kind for kind in norm_layers if isinstance(kind, dict)] if isinstance(norm_layers, list) else []
    for norm in dict.fromkeys(str(kind.get("norm")) for kind in kinds):
        own = [kind for kind in kinds if str(kind.get("norm")) == norm]
        for name in dict.fromkeys(name for kind in own for name in kind.get("parameters", {})):
            counts: dict[str, int] = {}
            for kind in own:
                value = str(kind.get("parameters", {}).get(name))
                counts[value] = counts.get(value, 0) + len(kind.get("layers", []))
            if len(counts) > 1:
                parts = ", ".join(f"{value} in {count}" for value, count in counts.items())
                yield f"Layers of {norm} differ in {name}: {parts} of {sum(counts.values())} layers"


def which(runs: list[str], of: int) -> str:
    if len(runs) == of:
        return "all runs"
    return ", ".join(runs) if len(runs) <= NAMED else f"{len(runs)} of {of} runs"
