"""Observing a model while it trains: norms of weights, a channel of a batch norm, phi, running statistics.

These are the quantities of figures 2 and 3 of "New Interpretations of Normalization Methods", and some others.
Observed values stay on the device until they are read, so no step waits for the device.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.model_state import preserve_state
from normbench_cli.norms.protocols import learns_phi
from normbench_cli.operations import Operation

GAMMA, BETA = "bn/gamma2_minus_sigma2", "bn/beta_minus_mu"


class Probes:
    """Observes a model at every step, or at some: `after_step` keeps the values of a step, `read` returns them.

    weights/l2            joint norm of the weights of the first block; weights/l2/<conv> of each; if a weight is
                          normalized, ||v|| of its direction (also in the joint norm) and, as weights/l2_g/<conv>, ||g||
    bn/gamma2_minus_sigma2, bn/beta_minus_mu
                          |gamma^2 - sigma^2| and |beta - mu| of one channel of the first batch norm of the block, with
                          the batch statistics of its input (biased variance)
    phi/mean, phi/min, phi/max
                          over all learned phi, if the model has any

    every: observe steps 1, 1 + every, 1 + 2 every, ...
    channel: of the batch norm; drawn with `seed` by default
    block: name of the module to observe; by default the first block (`layer1.0`, `stages.0.0`, ...)
    """

    def __init__(
        self, model: nn.Module, every: int = 1, channel: int | None = None, block: str | None = None, seed: int = 0
    ) -> None:
        if every < 1:
            raise ValueError(f"every is {every}; give 1 or more")
        self._every = every
        self._rows: list[tuple[int, Tensor | None]] = []  # each step since the last `read`; None if not observed
        self._names: list[str] = []  # of the values in a row
        self.block = first_block(model) if block is None else block
        observed = model.get_submodule(self.block)
        self._weights = dict(weights_of(observed))
        self._phis = [module for module in model.modules() if learns_phi(module)]
        self._norm = next((module for module in observed.modules() if is_batch_norm(module)), None)
        self._norm_values: tuple[Tensor, Tensor] | None = None  # of the current step
        # The hook also observes the very first step, whose number it cannot know: a resumed run may start at any.
        self._step_is_observed = True
        if self._norm is not None:
            features = len(cast(Tensor, self._norm.weight))
            drawn = int(torch.randint(features, (), generator=torch.Generator().manual_seed(seed)))
            self.channel = drawn if channel is None else channel
            if not 0 <= self.channel < features:
                raise ValueError(f"channel is {channel}; the norm has {features}")
            # excluded from tracing, which would turn `_step_is_observed` into a constant
            self._norm.register_forward_hook(torch.compiler.disable(self._observe_norm))

    def after_step(self, step: int) -> None:
        """Called after each training step; the first step is 1.  Keeps its values if it is observed."""
        self._step_is_observed = step % self._every == 0  # the step after this one
        values = self._values() if (step - 1) % self._every == 0 else {}
        self._names = list(values) or self._names
        self._rows.append((step, torch.stack(list(values.values())) if values else None))

    def read(self) -> tuple[dict[str, float], dict[str, list[float]]]:
        """Return the latest values, and series with one value per step since the last `read`, NaN if not observed.
        Waits for the device once."""
        rows, self._rows = [row for _, row in self._rows], []
        observed = [index for index, row in enumerate(rows) if row is not None]
        if not observed:
            return {}, {}
        values = torch.stack([row for row in rows if row is not None]).cpu()
        series = torch.full((len(rows), len(self._names)), torch.nan)
        series[torch.tensor(observed)] = values
        return (
            dict(zip(self._names, values[-1].tolist(), strict=True)),
            dict(zip(self._names, series.T.tolist(), strict=True)),
        )

    def _observe_norm(self, norm: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        if norm.training and self._step_is_observed:
            x = inputs[0].detach()[:, self.channel].float()
            gamma, beta = (cast(Tensor, p).detach()[self.channel] for p in (norm.weight, norm.bias))
            variance, mean = torch.var_mean(x, correction=0)
            self._norm_values = ((gamma.square() - variance).abs(), (beta - mean).abs())

    @torch.no_grad()
    def _values(self) -> dict[str, Tensor]:
        values: dict[str, Tensor] = {}
        if self._weights:
            # all norms in one kernel on an accelerator; torch's public functions return only the norm of the norms
            norms = [norm.float() for norm in torch._foreach_norm(list(self._weights.values()))]
            by_name = dict(zip(self._weights, norms, strict=True))
            joint = [norm for name, norm in by_name.items() if name.startswith("weights/l2/")]
            values = {"weights/l2": torch.stack(joint).square().sum().sqrt()} | by_name
        if self._norm is not None:
            missing = next(self._norm.parameters()).new_full((), torch.nan, dtype=torch.float32)
            gamma, beta = self._norm_values or (missing, missing)
            values |= {GAMMA: gamma, BETA: beta}
            self._norm_values = None
        if self._phis:
            phi = torch.cat([module.phi.detach().flatten() for module in self._phis]).float()
            values |= {"phi/mean": phi.mean(), "phi/min": phi.min(), "phi/max": phi.max()}
        return values


class Drift:
    """The change of running statistics since the last `read`: ||now - then|| / ||then||, for means and for variances
    over the whole model."""

    def __init__(self, model: nn.Module) -> None:
        self._kinds: dict[str, list[Tensor]] = {}
        for name, buffer in model.named_buffers():
            kind = name.rpartition(".")[2]
            if kind.startswith("running_") and buffer.is_floating_point():
                self._kinds.setdefault(kind, []).append(buffer)
        self._then = self._now()

    def after_step(self, step: int) -> None:
        """Does nothing: only the values at each `read` matter."""

    def read(self) -> tuple[dict[str, float], dict[str, list[float]]]:
        """Return `drift/running_mean` and so on; no series.  Waits for the device once per kind of statistic."""
        then, self._then = self._then, self._now()
        return {
            f"drift/{kind}": ((now - then[kind]).norm() / then[kind].norm().clamp_min(1e-12)).item()
            for kind, now in self._then.items()
        }, {}

    def _now(self) -> dict[str, Tensor]:
        return {kind: torch.cat([b.detach().flatten().float() for b in found]) for kind, found in self._kinds.items()}


class ModeGap:
    """The mean loss of one batch in eval mode minus that in training mode, computed at every `read`, as `mode_gap`."""

    def __init__(self, model: nn.Module, inputs: Tensor, labels: Tensor) -> None:
        self._model = model
        self._inputs = inputs
        self._labels = labels

    def after_step(self, step: int) -> None:
        """Does nothing: `read` computes the gap."""

    def read(self) -> tuple[dict[str, float], dict[str, list[float]]]:
        return {"mode_gap": mode_gap(self._model, self._inputs, self._labels).item()}, {}


@torch.no_grad()
def mode_gap(model: nn.Module, inputs: Tensor, labels: Tensor) -> Tensor:
    """The gap for a batch.  The model, its buffers and the random generators are restored."""
    with preserve_state(model, inputs.device):
        in_training = F.cross_entropy(model.train()(inputs).float(), labels)
    with preserve_state(model, inputs.device):
        in_evaluation = F.cross_entropy(model.eval()(inputs).float(), labels)
    return in_evaluation - in_training


def first_block(model: nn.Module) -> str:
    """The name of the first numbered module that has several operations and contains no other such module; by default
    that of the whole model."""
    candidates = [
        name
        for name, module in model.named_modules()
        if re.search(r"(^|\.)\d+$", name) and sum(w.startswith("weights/l2/") for w, _ in weights_of(module)) > 1
    ]
    innermost = (name for name in candidates if not any(other.startswith(f"{name}.") for other in candidates))
    return next(innermost, "")


def weights_of(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """The learned weights of convolutions and linear layers, by metric name: the weight itself, the original parameter
    of a parametrization, or v and g of weight normalization."""
    for name, op in module.named_modules():
        if not isinstance(op, Operation):
            continue
        label = name or "weight"
        raw = {
            key.rpartition(".")[2]: p for key, p in op.named_parameters() if key.startswith("parametrizations.weight")
        }
        if "original1" in raw:
            yield f"weights/l2/{label}", raw["original1"]
            yield f"weights/l2_g/{label}", raw["original0"]
        else:
            yield f"weights/l2/{label}", raw.get("original", op.weight)


def is_batch_norm(module: nn.Module) -> bool:
    """Whether the module is a norm with gamma, beta and running statistics, each with one value per channel."""
    tensors = (getattr(module, name, None) for name in ("weight", "bias", "running_mean"))
    return all(isinstance(tensor, Tensor) and tensor.dim() == 1 for tensor in tensors)
