"""What a layer or a parameter may offer to the training loop, the measurements and the optimizer.

Nothing here has to be inherited: any layer that has the methods or the attribute takes part.

| contract | offered by | used for |
|---|---|---|
| `HasSolverStatistics` | layers that find their center by iteration | the metrics `solver/...`, `profile` |
| `KeepsStart` | layers whose solver starts where it ended in the previous batch | `profile --start` |
| `LearnsPhi` | layers with a learned phi | the metrics `phi/...`, probes |
| `NormalizesGroups` | layers with statistics of each sample | refusing to normalize single values |
| `CompilesAhead` | layers with kernels of their own | compiling once, before folds are forked |
| `SyncsStatistics` | layers with statistics of the batch | statistics over all processes of a training |
| `HasGenerator` | layers that draw random numbers, such as dropout | folds trained side by side |
| `weight_decay_group` | parameters that weight decay must not touch | the optimizer's parameter groups |

Contracts on methods are checked by `isinstance(module, HasSolverStatistics)`.  Contracts on an attribute have a
function instead, `learns_phi(module)`: how `isinstance` treats attributes differs between Python versions, and no
version checks the attribute's type.  Either check takes microseconds and belongs before the loop, not in a step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeGuard, runtime_checkable

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle


@runtime_checkable
class HasSolverStatistics(Protocol):
    """A layer that counts the work of its solver, on its device."""

    def solver_statistics(self) -> dict[str, Tensor]:
        """Since the last reset, as scalars: `iterations_mean`, `iterations_max`, `unconverged` (a fraction of the
        channels), `residual` (the largest error bound, in standard deviations), and perhaps `error_bound` (the same in
        standard errors of the center, sd / sqrt(values))."""
        ...

    def reset_solver_statistics(self) -> None: ...


@runtime_checkable
class CompilesAhead(Protocol):
    """A layer that compiles some of its kernels only when the data need them."""

    def compile_ahead(self, x: Tensor) -> None:
        """Compile all kernels that training on inputs like ``x`` may need; change nothing else."""
        ...


@runtime_checkable
class NormalizesGroups(Protocol):
    """A layer whose statistics may be over the values of one sample, in groups of channels."""

    @property
    def num_features(self) -> int: ...

    def values_per_statistic(self, shape: tuple[int, ...]) -> int:
        """How many values of an input of this shape share a mean or a scale; a single value cannot be normalized."""
        ...

    def register_forward_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle: ...


@runtime_checkable
class SyncsStatistics(Protocol):
    """A layer that can compute its training statistics over several processes, each with a part of the batch."""

    def sync_over(self, group: Any = None) -> None:
        """Synchronize over the processes of a torch.distributed group from now on; None: over all."""
        ...


class KeepsStart(Protocol):
    """A layer whose solver starts from the results of previous batches; initially from zeros."""

    @property
    def starts(self) -> tuple[Tensor, ...]: ...


class LearnsPhi(Protocol):
    """A layer with the exponent phi as a learned tensor, one value per channel."""

    @property
    def phi(self) -> Tensor: ...


class HasGenerator(Protocol):
    """A layer that draws from ``generator``, or from torch's global generator while it is None."""

    generator: torch.Generator | None


def keeps_start(module: nn.Module) -> TypeGuard[KeepsStart]:
    """Whether the module has a solver and tensors `starts` for it."""
    return isinstance(module, HasSolverStatistics) and isinstance(getattr(module, "starts", None), tuple)


def learns_phi(module: nn.Module) -> TypeGuard[LearnsPhi]:
    """Whether the module has a tensor `phi`; a fixed phi is a number, and does not count."""
    return isinstance(getattr(module, "phi", None), Tensor)


def has_generator(module: nn.Module) -> TypeGuard[HasGenerator]:
    """Whether the module has a `generator` for random numbers; a submodule of that name does not count."""
    return isinstance(getattr(module, "generator", module), torch.Generator | None)


def weight_decay_group(parameter: nn.Parameter) -> str | None:
    """The group of parameters without weight decay that this one belongs to, or None for an ordinary parameter."""
    group: str | None = getattr(parameter, "weight_decay_group", None)
    return group


def exempt_from_weight_decay(parameter: nn.Parameter, group: str) -> None:
    """Put the parameter into a group of its own, which the optimizer does not decay.

    The mark is an attribute of the parameter and is lost when the parameter is copied: a module that must survive
    `copy.deepcopy` and pickling sets it again in `__setstate__`.
    """
    parameter.weight_decay_group = group  # type: ignore[attr-defined]


def sync_norms(model: nn.Module, group: Any = None) -> None:
    """Synchronize training statistics over the processes of a group in every layer that can; None: over all.

    All processes must call the model in the same order, each with its part of the batch.
    """
    for module in model.modules():
        if isinstance(module, SyncsStatistics):
            module.sync_over(group)
