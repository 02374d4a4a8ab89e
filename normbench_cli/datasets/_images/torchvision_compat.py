"""Imports torchvision even if its compiled operators do not fit the installed torch."""

from __future__ import annotations

import importlib
from types import ModuleType

import torch

MISSING = "operator torchvision::nms does not exist"
OPERATORS = ("nms", "qnms")  # torchvision's Python part registers fake implementations of them when it is imported

_declared: list[torch.library.Library] = []  # the declarations live as long as these objects


def import_torchvision() -> ModuleType:
    """The module torchvision.

    A torchvision built for another torch (CUDA beside a CPU torch, say) finds none of its compiled operators, and its
    import fails because it refers to them.  Its models, data sets and transforms need none of them, so the operators
    are declared without an implementation and the import is repeated.  Any other error is passed on.
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
