"""A digest of the data that a data set holds in memory, for data sets that do not name the files they read.

Tensors and arrays are hashed by type, shape and bytes, numbers by value, and splits of image files by the names and
sizes of their files.  They are searched in attributes, dataclasses, lists and dictionaries.  Text is ignored, because
it is often a path.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FunctionType, MethodType, ModuleType

import numpy as np
import torch
from torch import Tensor

from normbench_cli.datasets._files.contents import DIGITS
from normbench_cli.datasets._images.files import ImageFiles

NOT_DATA = (str, bytes, Path, type, ModuleType, FunctionType, MethodType)


def digest_of(data: object) -> str:
    digest = hashlib.sha256()
    for name, piece in pieces(data, "", set()):
        digest.update(name.encode() + b"\0")
        digest.update(piece)
    return digest.hexdigest()[:DIGITS]


def pieces(value: object, name: str, seen: set[int]) -> Iterator[tuple[str, bytes | memoryview]]:
    """Yield the data in an object, each with its path."""
    if isinstance(value, Tensor):
        yield from tensor_pieces(value, name)
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        yield f"{name} {value.dtype} {value.shape}", np.ascontiguousarray(value).tobytes()
    elif isinstance(value, bool | int | float | complex | np.generic) or value is None:
        yield name, repr(value).encode()
    elif not isinstance(value, NOT_DATA) and id(value) not in seen:
        seen.add(id(value))
        if isinstance(value, ImageFiles):
            yield f"{name} sizes", repr([file_size(value.path(index)) for index in range(len(value))]).encode()
        for key, part in parts(value):
            yield from pieces(part, f"{name}.{key}", seen)


def tensor_pieces(value: Tensor, name: str) -> Iterator[tuple[str, bytes | memoryview]]:
    dense = value.detach().to_dense().cpu().contiguous() if value.layout != torch.strided else value.detach().cpu()
    yield f"{name} {value.dtype} {tuple(value.shape)}", dense.contiguous().reshape(-1).view(torch.uint8).numpy().data


def parts(value: object) -> Iterator[tuple[str, object]]:
    """The components of an object, in deterministic order."""
    if isinstance(value, Mapping):
        yield from sorted((str(key), part) for key, part in value.items())
    elif isinstance(value, list | tuple | np.ndarray):
        yield from ((str(number), part) for number, part in enumerate(value))
    else:
        yield from sorted(getattr(value, "__dict__", {}).items())


def file_size(path: str) -> int:
    """The size in bytes; -1 if there is no such file."""
    try:
        return os.stat(path).st_size  # noqa: PTH116  # there may be a million
    except FileNotFoundError:
        return -1
