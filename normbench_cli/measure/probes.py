"""Looks into a model while it trains: lengths of weights, one channel of a batch norm, phi, running statistics.

For the figures of "New Interpretations of Normalization Methods" (2 and 3) and beside them.  Everything a probe finds
stays on the device until it is read, so a step waits for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.device import random_state, set_random_state
from normbench_cli.operations import Operation

GAMMA, BETA = "bn/gamma2_minus_sigma2", "bn/beta_minus_mu"


class Probes:
    """Watches a model: `after_step` keeps a step's values, `read` hands over what was kept.

    weights/l2            joint length of the first block's weights; weights/l2/<conv> of each; for a weight-normalized
                          one the direction's ||v|| (the joint length is theirs) and, as weights/l2_g/<conv>, its ||g||
    bn/gamma2_minus_sigma2, bn/beta_minus_mu
                          |gamma^2 - sigma^2| and |beta - mu| of one channel of the block's first batch norm, with the
                          statistics of the batch before the norm (biased variance)
    phi/mean, phi/min, phi/max
                          over all learned phi, if the model has any

    every: look at each how many-th step; channel: of the batch norm, drawn with `seed` if not given; block: name of
    the module to watch, by default the first block (`layer1.0`, `stages.0.0`, ...).
    """

    def __init__(
        self, model: nn.Module, every: int = 1, channel: int | None = None, block: str | None = None, seed: int = 0
    ) -> None:
        if every < 1:
            raise ValueError(f"every is {every}; give 1 or more")
        self._every, self._done = every, -1  # the last step that ended; before the first, any may be next
        self._first = 0  # the step after the last reading
        self.steps: list[int] = []  # those that the series of the last reading belong to
        self.block = first_block(model) if block is None else block
        inside = model.get_submodule(self.block)
        self._weights = dict(weights_of(inside))
        self._phis = [m for m in model.modules() if isinstance(getattr(m, "phi", None), Tensor)]
        self._norm = next((m for m in inside.modules() if is_batch_norm(m)), None)
        self._seen: tuple[Tensor, Tensor] | None = None
        self._hook: Any = None
        if self._norm is not None:
            features = len(self._norm.weight)  # type: ignore[arg-type]
            drawn = torch.randint(features, (), generator=torch.Generator().manual_seed(seed)).item()
            self.channel = int(drawn) if channel is None else channel
            if not 0 <= self.channel < features:
                raise ValueError(f"channel is {channel}; the norm has {features}")
            # not traced: in a compiled model the count of steps would be a constant
            self._hook = self._norm.register_forward_hook(torch.compiler.disable(self._look))
        self._names: list[str] = []
        self._rows: list[Tensor] = []
        self._at: list[int] = []

    def after_step(self, step: int) -> None:
        """Keep the values of this training step (from 1), if it is one to look at."""
        self._first, self._done = self._first or step, step
        if (step - 1) % self._every:
            return
        with torch.no_grad():
            values = self._values()
        if values:
            self._names = list(values)
            self._rows.append(torch.stack(list(values.values())))
            self._at.append(step)

    def read(self) -> tuple[dict[str, float], dict[str, list[float]]]:
        """The latest values, and the series since the last reading: a value for each of `steps`, NaN where nobody
        looked; waits for the device once."""
        rows, looked, first = self._rows, self._at, self._first
        self._rows, self._at, self._first, self.steps = [], [], 0, list(range(first, self._done + 1)) if first else []
        if not rows:
            return {}, {}
        seen = torch.stack(rows).cpu()
        series = torch.full((len(self.steps), len(self._names)), torch.nan)
        series[torch.tensor(looked) - first] = seen
        return (
            dict(zip(self._names, seen[-1].tolist(), strict=True)),
            dict(zip(self._names, series.T.tolist(), strict=True)),
        )

    def close(self) -> None:
        if self._hook is not None:
            self._hook.remove()

    def _look(self, norm: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        if norm.training and (self._done < 0 or self._done % self._every == 0):
            x = inputs[0].detach()[:, self.channel].float()
            gamma, beta = (cast(Tensor, p).detach()[self.channel] for p in (norm.weight, norm.bias))
            variance, mean = torch.var_mean(x, correction=0)
            self._seen = ((gamma.square() - variance).abs(), (beta - mean).abs())

    def _values(self) -> dict[str, Tensor]:
        values: dict[str, Tensor] = {}
        if self._weights:
            lengths = [length.float() for length in torch._foreach_norm(list(self._weights.values()))]
            named = dict(zip(self._weights, lengths, strict=True))
            own = [length for name, length in named.items() if name.startswith("weights/l2/")]
            values = {"weights/l2": torch.stack(own).square().sum().sqrt()} | named
        if self._norm is not None:
            nothing = next(self._norm.parameters()).new_full((), torch.nan, dtype=torch.float32)
            gamma, beta = self._seen or (nothing, nothing)
            values |= {GAMMA: gamma, BETA: beta}
            self._seen = None
        if self._phis:
            phi = torch.cat([cast(Tensor, m.phi).detach().flatten() for m in self._phis]).float()
            values |= {"phi/mean": phi.mean(), "phi/min": phi.min(), "phi/max": phi.max()}
        return values


class Drift:
    """How far the running statistics have moved since they were last looked at: ||now - then|| / ||then||, by kind."""

    def __init__(self, model: nn.Module) -> None:
        self._kinds: dict[str, list[Tensor]] = {}
        for name, buffer in model.named_buffers():
            kind = name.rpartition(".")[2]
            if kind.startswith("running_") and buffer.is_floating_point():
                self._kinds.setdefault(kind, []).append(buffer)
        self._then = self._now()

    def after_step(self, step: int) -> None:
        """Nothing: only what lies between two readings counts."""

    def read(self) -> tuple[dict[str, float], dict[str, list[float]]]:
        """`drift/running_mean` and so on; no series; waits for the device once a kind."""
        then, self._then = self._then, self._now()
        return {
            f"drift/{kind}": ((now - then[kind]).norm() / then[kind].norm().clamp_min(1e-12)).item()
            for kind, now in self._then.items()
        }, {}

    def _now(self) -> dict[str, Tensor]:
        return {kind: torch.cat([b.detach().flatten().float() for b in found]) for kind, found in self._kinds.items()}


class ModeGap:
    """The mean loss of one batch in eval mode less that in training mode, at every reading, as `mode_gap`."""

    def __init__(self, model: nn.Module, inputs: Tensor, labels: Tensor) -> None:
        self._model, self._inputs, self._labels = model, inputs, labels

    def after_step(self, step: int) -> None:
        """Nothing: the gap is taken when it is read."""

    def read(self) -> tuple[dict[str, float], dict[str, list[float]]]:
        return {"mode_gap": mode_gap(self._model, self._inputs, self._labels).item()}, {}


@torch.no_grad()
def mode_gap(model: nn.Module, inputs: Tensor, labels: Tensor) -> Tensor:
    """The gap for a batch; the model, its buffers and the random generators are left as they were."""
    modes = [(module, module.training) for module in model.modules()]
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    random = random_state(inputs.device)
    in_training = F.cross_entropy(model.train()(inputs).float(), labels)
    set_random_state(inputs.device, random)
    for buffer, before in buffers:
        buffer.copy_(before)
    in_evaluation = F.cross_entropy(model.eval()(inputs).float(), labels)
    for module, training in modes:
        module.training = training
    return in_evaluation - in_training


def first_block(model: nn.Module) -> str:
    """The name of the first numbered module with several convolutions or linear layers, and no such one within it; else
    of the whole model."""
    several = [
        name
        for name, module in model.named_modules()
        if re.search(r"(^|\.)\d+$", name) and sum(w.startswith("weights/l2/") for w, _ in weights_of(module)) > 1
    ]
    innermost = (name for name in several if not any(other.startswith(f"{name}.") for other in several))
    return next(innermost, "")


def weights_of(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """The learned weights of convolutions and linear layers: a layer's own, the raw one behind it, or v and g."""
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
    """A norm with gamma and beta that keeps running statistics of each channel."""
    kept = (getattr(module, name, None) for name in ("weight", "bias", "running_mean"))
    return all(isinstance(value, Tensor) and value.dim() == 1 for value in kept)
