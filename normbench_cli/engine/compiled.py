"""A model compiled as a whole with torch.compile, for the one shape that training asks for again and again."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from normbench_cli.errors import first_sentence

log = logging.getLogger(__name__)


class Compiled:
    """Calls the compiled model for whole training batches, and the uncompiled model for everything else.

    A smaller last batch and evaluation come too seldom to be worth a compilation each.  Which of the two is called
    depends on the shape and the mode alone, so a training that is resumed repeats every bit.  If the compiler fails,
    the uncompiled model is called from then on.

    backend: of torch.compile: its name, or a function as torch.compile takes it.  mode: "default", or as torch.compile
    names it; "reduce-overhead" replays CUDA graphs, whose outputs last until the next call.
    """

    def __init__(
        self,
        model: nn.Module,
        shape: tuple[int, ...],
        backend: str | Callable[..., Any] = "inductor",
        mode: str = "default",
    ) -> None:
        self.model = model
        self.shape = shape
        self._backend = backend
        self._mode = None if mode == "default" else mode
        self._compiled: Callable[[Tensor], Tensor] | None = None
        self._tried = False

    def __call__(self, inputs: Tensor) -> Tensor:
        fits = self.model.training and torch.is_grad_enabled() and inputs.shape == self.shape
        if fits and self._mode:
            torch.compiler.cudagraph_mark_step_begin()  # what the last step gave may be overwritten from here on
        if fits and self._compiled is not None:
            return self._compiled(inputs)
        if fits and not self._tried:
            return self._first_call(inputs)
        return self._uncompiled(inputs)

    def _first_call(self, inputs: Tensor) -> Tensor:
        """Compile the model for these inputs, and call what came of it."""
        self._tried = True
        try:
            with warnings.catch_warnings():  # torch.compile warns of its own code
                warnings.simplefilter("ignore")
                # torch.compile gives up after eight models in a process; those of former runs are not needed any more
                torch.compiler.reset()
                compiled: Callable[[Tensor], Tensor] = torch.compile(
                    self.model, dynamic=False, backend=self._backend, mode=self._mode
                )
                outputs = compiled(inputs)
        except Exception as error:  # compilers fail in many ways; an error of the model itself is raised again below
            log.warning("the model runs uncompiled: %s", first_sentence(error))
            return self._uncompiled(inputs)
        self._compiled = compiled
        return outputs

    def _uncompiled(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.model(inputs)
        return outputs
