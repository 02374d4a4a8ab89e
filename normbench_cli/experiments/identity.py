"""What a run depends on besides its settings: the data, and the source code of external components.

Both are recorded with a run and are part of its fingerprint.  Data that come with a package and normbench's own
components add nothing to it, unless a network was changed so that it computes something else (`revision`).
Nothing here loads torch, unless a data set does not declare which files it reads, or they are not there yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import Any

from normbench_cli.config import DEFAULTS, REGISTRIES, RunConfig
from normbench_cli.datasets._files.reading import is_embedded, read_contents
from normbench_cli.registry import DATASETS, MODELS, NORMS
from normbench_cli.registry.source_digest import Source, source_of

Specs = tuple[str, ...]  # of the components of a configuration, in the order of REGISTRIES


def fingerprints(configs: Iterable[RunConfig], *, download: bool = True) -> list[str]:
    """Return the fingerprint of each configuration as it would be trained now.  Every file is examined once.

    download: download missing data, as training would; otherwise they add nothing yet.
    """
    digest, sources = cache(partial(data_digest, download=download)), cache(sources_of)
    return [
        fingerprint_of(config, fingerprint_parts(digest(config.data), sources(specs_of(config)), revisions_of(config)))
        for config in configs
    ]


def fingerprint_parts(data: str, sources: Mapping[str, Source], revisions: Mapping[str, int]) -> dict[str, Any]:
    """The parts of a fingerprint besides the settings: digests and revisions, where there are any."""
    digests = {name: source.digest for name, source in sources.items()}
    parts = {"data": data, "sources": digests, "revisions": dict(revisions)}
    return {name: value for name, value in parts.items() if value}


def fingerprint_of(config: RunConfig, parts: Mapping[str, Any]) -> str:
    """The fingerprint of a configuration once it is resolved; the device is queried only if the precision is "auto"
    or not supported by every device."""
    if config.amp != "auto" and config.tf32 == DEFAULTS["tf32"]:
        return config.fingerprint(parts)
    from normbench_cli.build import resolved_fingerprint

    return resolved_fingerprint(config, parts)


def data_digest(spec: str, *, download: bool = True) -> str:
    """The digest of the data as they are now; empty for embedded data.  Missing data are downloaded by default."""
    if is_embedded(spec):
        return ""
    if found := read_contents(spec):
        return found.digest
    if not download and DATASETS.parse(spec).entry.facts.files:
        return ""
    from normbench_cli.build import loaded_data

    return loaded_data(spec).identity


def specs_of(config: RunConfig) -> Specs:
    return tuple(getattr(config, name) for name in REGISTRIES)


def revisions_of(config: RunConfig) -> dict[str, int]:
    """The revision of the network, if it is not the first."""
    entry = MODELS.parse(config.model).entry
    return {entry.name: entry.facts.revision} if entry.facts.revision > 1 else {}


def sources_of(specs: Specs) -> dict[str, Source]:
    """The sources of external components, by name."""
    found = {}
    for registry, spec in zip(REGISTRIES.values(), specs, strict=True):
        for part in NORMS.parse_norm(spec).parts if registry is NORMS else (registry.parse(spec),):
            if source := source_of(part.entry):
                found[part.entry.name] = source
    return found
