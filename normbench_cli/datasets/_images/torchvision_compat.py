"""Imports torchvision even if its compiled operators do not match the installed torch."""

from __future__ import annotations

import importlib
from types import ModuleType

import torch

MISSING = "operator torchvision::nms does not exist"
OPERATORS = ("nms", "qnms")  # torchvision's Python code registers fake implementations of them on import

_declared: list[torch.library.Library] = []  # the declarations live as long as these objects


def import_torchvision() -> ModuleType:
    """Return the module torchvision.

    A torchvision built for another torch (e.g. for CUDA, with a CPU torch) finds none of its compiled operators, and
    its import fails because it refers to them.  Its models, data sets and transforms need none of them, so they are
    declared without an implementation and the import is retried.  Other errors propagate.
    """
    try:
        return importlib.import_module("torchvision")
    except RuntimeError as error:
        if str(error) != MISSING:
            raise
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in OPERATORS:
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _declared.append(library)
    return importlib.import_module("torchvision")
