"""A model compiled as a whole with torch.compile, for the one shape that full training batches have."""

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
    """Calls the compiled model for full training batches, and the uncompiled model for everything else.

    A smaller last batch and evaluation are too rare to be worth a compilation each.  The choice depends only on the
    shape and the mode, so resumed training is bit-identical.  If the compiler fails, the uncompiled model is called
    from then on.

    backend, mode: as for torch.compile; "reduce-overhead" replays CUDA graphs, whose outputs are valid until the next
    call.
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
            torch.compiler.cudagraph_mark_step_begin()  # the last step's outputs may be overwritten from here on
        if fits and self._compiled is not None:
            return self._compiled(inputs)
        if fits and not self._tried:
            return self._first_call(inputs)
        return self._uncompiled(inputs)

    def _first_call(self, inputs: Tensor) -> Tensor:
        """Compile the model for these inputs, and call the result."""
        self._tried = True
        try:
            with warnings.catch_warnings():  # torch.compile warns about its own code
                warnings.simplefilter("ignore")
                # torch.compile gives up after eight models in a process; those of earlier runs are no longer needed
                torch.compiler.reset()
                compiled: Callable[[Tensor], Tensor] = torch.compile(
                    self.model, dynamic=False, backend=self._backend, mode=self._mode
                )
                outputs = compiled(inputs)
        except Exception as error:  # compilers fail in many ways; the model's own errors are raised again below
            log.warning("the model runs uncompiled: %s", first_sentence(error))
            return self._uncompiled(inputs)
        self._compiled = compiled
        return outputs

    def _uncompiled(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.model(inputs)
        return outputs
