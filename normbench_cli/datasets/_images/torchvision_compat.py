"""torchvision, also where its compiled part does not fit the installed torch."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import torch

MISSING = "operator torchvision::nms does not exist"
OPERATORS = ("nms", "qnms")  # those that torchvision's Python part describes to torch while it is imported

_declared: list[Any] = []  # torch forgets the declarations together with this


def import_torchvision() -> ModuleType:
    """The module torchvision.

    A torchvision built for another torch (CUDA beside a CPU torch, say) finds none of its compiled operators, and its
    import fails on describing them.  Models, data sets and transforms need none, so they are declared, without an
    implementation, and the import is tried again.  Any other failure is left as it is.
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
