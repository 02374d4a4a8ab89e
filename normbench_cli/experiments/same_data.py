"""Whether a recorded run's data, and the source of its components, have changed since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from normbench_cli import build
from normbench_cli.config import RunConfig
from normbench_cli.datasets._files.reading import read_contents
from normbench_cli.errors import NormbenchError
from normbench_cli.experiments.events import Callback, Notice, ignore
from normbench_cli.experiments.identity import revisions_of, sources_of, specs_of
from normbench_cli.store.schema import Run


def check_data(run: Run, config: RunConfig, *, force: bool = False, on_event: Callback = ignore) -> str:
    """Raise an error if the data set of that name has changed since the run; return an empty string if it has not.

    force: accept the change, and return a sentence that describes it, to be recorded.  A run recorded before data were
    part of its details, or on data that come with a package, is not checked.
    """
    read_contents(config.data)
    recorded = run.details.get("data")
    if not isinstance(recorded, Mapping) or recorded.get("source") == "embedded" or not recorded.get("digest"):
        return ""
    now = build.loaded_data(config.data).describe()
    if now["digest"] == recorded["digest"]:
        return ""
    what = f"run {run.id} was trained on {describe(recorded)}, which is now {describe(now)}"
    if not force:
        do = "set NORMBENCH_DATA to the folder of the first, or accept the second with --force (in Python force=True)"
        raise NormbenchError(what, do)
    on_event(Notice(what))
    return what


def changed_sources(run: Run, config: RunConfig) -> Iterator[Notice]:
    """A notice for each external component whose file was edited since the run began, and for a network whose
    computation has changed since."""
    sources = run.details.get("sources")
    recorded = sources if isinstance(sources, Mapping) else {}
    for name, source in sources_of(specs_of(config)).items():
        before = recorded.get(name)
        if isinstance(before, Mapping) and before.get("digest") != source.digest:
            yield Notice(f"{source.file} has changed since run {run.id} began: {name} may not be the same")
    of_networks = run.details.get("revisions")
    for name, revision in revisions_of(config).items():
        before = of_networks.get(name) if isinstance(of_networks, Mapping) else None
        if before != revision:
            yield Notice(f"{name} computes something else since run {run.id} was made: see its entry in the changelog")


def describe(data: Mapping[str, Any]) -> str:
    """``ptc of /data/PTC.txt (344 examples, digest 0123456789abcdef)``"""
    examples = data.get("examples")
    count = sum(n for n in examples.values() if isinstance(n, int)) if isinstance(examples, Mapping) else 0
    where = "" if data.get("source") == "memory" else f" of {data.get('source')}"
    return f"{data.get('name')}{where} ({count:,} examples, digest {data['digest']})"
