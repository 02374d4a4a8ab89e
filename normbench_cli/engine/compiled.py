"""A model compiled whole with torch.compile, for the one shape that training asks for again and again."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import torch
from torch import Tensor, nn

from normbench_cli.errors import first_sentence

log = logging.getLogger(__name__)


class Compiled:
    """Calls the compiled model for whole training batches, and the model as it is written for everything else.

    A smaller last batch and evaluation come too seldom to be worth a compilation each.  Which of the two runs depends
    on the shape and the mode alone, so a training that is resumed repeats every bit.  Where the compiler fails, the
    model runs as it is written from then on.
    """

    def __init__(self, model: nn.Module, shape: tuple[int, ...], backend: str = "inductor") -> None:
        self.model, self.shape, self._backend = model, shape, backend
        self._compiled: Any = None
        self._tried = False

    def __call__(self, inputs: Tensor) -> Tensor:
        fits = self.model.training and torch.is_grad_enabled() and inputs.shape == self.shape
        if not fits or (self._tried and self._compiled is None):
            return self.model(inputs)
        if self._compiled is not None:
            return self._compiled(inputs)
        self._tried = True
        try:
            with warnings.catch_warnings():  # a compiler warns of itself
                warnings.simplefilter("ignore")
                torch.compiler.reset()  # it gives up after some models in a process, and those of runs before are done
                compiled = torch.compile(self.model, dynamic=False, backend=self._backend)
                outputs = compiled(inputs)
        except Exception as error:  # a compiler fails in many ways; a fault of the model itself comes again below
            log.warning("the model runs uncompiled: %s", first_sentence(error))
            return self.model(inputs)
        self._compiled = compiled
        return outputs
