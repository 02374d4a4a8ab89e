"""Data sets, loaded once for all runs of a grid that use them, with the provenance of the data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from normbench_cli.build.data_digest import digest_of
from normbench_cli.config import RunConfig
from normbench_cli.datasets._files.contents import Contents
from normbench_cli.datasets._files.reading import cached_contents, is_embedded, read_contents
from normbench_cli.engine.protocols import GraphData, HoldsOut, ImageData
from normbench_cli.errors import NormbenchError, UsageError, first_sentence
from normbench_cli.paths import data_root
from normbench_cli.registry import DATASETS
from normbench_cli.registry.source_digest import Source, source_of


@dataclass(frozen=True)
class LoadedData:
    """A data set and the files that it was read from; None if it names no files."""

    spec: str
    data: ImageData | GraphData
    files: Contents | None

    @cached_property
    def digest(self) -> str:
        """Digest of the files, or else of the data in memory."""
        return self.files.digest if self.files else digest_of(self.data)

    @property
    def identity(self) -> str:
        """The data's contribution to a run's fingerprint: empty if they come with a package."""
        return "" if is_embedded(self.spec) else self.digest

    def describe(self) -> dict[str, Any]:
        """The data's description in a run's record."""
        if self.files:
            source = {"source": self.files.place, "files": self.files.files, "bytes": self.files.bytes}
        else:
            source = {"source": "embedded" if is_embedded(self.spec) else "memory"}
        return {
            "name": self.spec,
            **source,
            "digest": self.digest,
            "examples": count_examples(self.data),
            "classes": self.data.classes,
        }


def count_examples(data: ImageData | GraphData) -> dict[str, int]:
    """Number of examples by split; graphs are split by cross-validation."""
    if isinstance(data, GraphData):
        return {"all": len(data)}
    splits = {"train": data.train, "validation": data.validation, "test": data.test}
    return {name: len(split) for name, split in splits.items() if split is not None}


def load_data(spec: str) -> ImageData | GraphData:
    """The data set of a spec.  The last two are cached until `read_contents` finds different files."""
    return loaded_data(spec).data


def loaded_data(spec: str) -> LoadedData:
    """The data set of a spec with the files that it was read from."""
    return _load(spec, data_root(), cached_contents(spec), source_of(DATASETS.parse(spec).entry))


def load_images(spec: str) -> ImageData:
    """The data set of a spec, which must be an image data set."""
    data = load_data(spec)
    if not isinstance(data, ImageData):
        raise UsageError(f"{spec} is a data set of graphs", "choose one of images")
    return data


def images_of(config: RunConfig) -> ImageData:
    """The image data set of a configuration, with its validation fraction held out."""
    data = load_images(config.data)
    if not config.validation:
        return data
    if data.validation is not None:
        raise UsageError(f"validation is {config.validation:g}, and {config.data} has a validation set", "leave it out")
    if not isinstance(data, HoldsOut):
        raise UsageError(
            f"validation is {config.validation:g}, and {config.data} cannot hold out a part of its training set",
            "give its data set a method hold_out(fraction, seed)",
        )
    try:
        return data.hold_out(config.validation, config.seed)
    except ValueError as error:  # a class with a single example, a fraction that leaves nothing
        raise UsageError(f"validation is {config.validation:g}: {first_sentence(error)}", "give another") from error


def load_graphs(spec: str) -> GraphData:
    """The data set of a spec, which must be a graph data set."""
    data = load_data(spec)
    if not isinstance(data, GraphData):
        raise UsageError(f"{spec} is a data set of images", "choose one of graphs")
    return data


@lru_cache(maxsize=2)
def _load(spec: str, root: Path, files: Contents | None, source: Source | None) -> LoadedData:  # noqa: ARG001
    """`root` is the folder of the data sets' files: the data set is read again if NORMBENCH_DATA changes, or the source
    code of a user's data set.

    files: their current contents; None before a download, after which the next call finds them.
    """
    data = DATASETS.build(spec)
    if not isinstance(data, ImageData | GraphData):
        lacking = [name for name in dir(ImageData) if not name.startswith("_") and not hasattr(data, name)]
        raise UsageError(
            f"data set '{spec}' is a {type(data).__name__}, which has no {', '.join(lacking)}",
            "return something that fulfils ImageData or GraphData of normbench_cli.engine.protocols",
        )
    now = read_contents(spec)
    if files is not None and now != files:
        raise NormbenchError(f"the files of {spec} in {files.place} changed while they were read", "try again")
    return LoadedData(spec, data, now)
