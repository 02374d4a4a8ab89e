"""Data sets, loaded once for all runs of a grid that use them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from normbench_cli.engine.protocols import GraphData, ImageData
from normbench_cli.errors import UsageError
from normbench_cli.paths import data_root
from normbench_cli.registry import DATASETS


def load_data(spec: str) -> ImageData | GraphData:
    """The data set of a spec.  The last two are kept in memory."""
    return _load(spec, data_root())


def load_images(spec: str) -> ImageData:
    """The data set of a spec, which must be one of images."""
    data = load_data(spec)
    if not isinstance(data, ImageData):
        raise UsageError(f"{spec} is a data set of graphs", "choose one of images")
    return data


def load_graphs(spec: str) -> GraphData:
    """The data set of a spec, which must be one of graphs."""
    data = load_data(spec)
    if not isinstance(data, GraphData):
        raise UsageError(f"{spec} is a data set of images", "choose one of graphs")
    return data


@lru_cache(maxsize=2)
def _load(spec: str, root: Path) -> ImageData | GraphData:  # noqa: ARG001
    """`root` is where data sets look for their files: with another NORMBENCH_DATA the data set is read again."""
    data = DATASETS.build(spec)
    if isinstance(data, ImageData | GraphData):
        return data
    lacking = [name for name in dir(ImageData) if not name.startswith("_") and not hasattr(data, name)]
    raise UsageError(
        f"data set '{spec}' is a {type(data).__name__}, which has no {', '.join(lacking)}",
        "return something that fulfils ImageData or GraphData of normbench_cli.engine.protocols",
    )
