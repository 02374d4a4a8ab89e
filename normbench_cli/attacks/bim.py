"""The basic iterative method: small steps along the sign of the loss gradient, inside a box around the input."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from normbench_cli.attacks._input_space import InputSpace
from normbench_cli.model_state import preserve_state
from normbench_cli.registry import ATTACKS
from normbench_cli.registry.bounds import Bounds, NotNegative


@ATTACKS.register("bim", paper="Kurakin et al. 2017; settings of Galloway et al. 2019")
class BIM(nn.Module):
    """Steps along the sign of the loss gradient, within eps of the input in every value, without a random start.

        x <- clip(project(x + step sign(dl/dx)))        project: into [x0 - eps, x0 + eps], then clip

    The defaults are those of Galloway et al.'s code, whose sizes are in normalized space: eps 0.03 is about 1.5/255 in
    CIFAR-10's pixels.  Their clip to [-2, 2] moves clean values outside it by more than eps, since CIFAR-10 reaches
    from -2.4 to 2.8; so the default here clips to the range of the data, and `clip_only` shows the effect of clipping
    alone.  The defaults of the library torchattacks are space=pixel,eps=0.0157,step=0.0039,steps=5: 4/255 in steps of
    1/255.

    eps: largest change of a value; step: change in one step; steps: number of steps; space: normalized, or pixel (0-1);
    clip: data_range (what pixels in 0-1 become), galloway ([-2, 2]) or none; mean, std: of the data's standardization,
    set by the program.
    """

    def __init__(
        self,
        eps: NotNegative = 0.03,
        step: NotNegative = 0.003,
        steps: Annotated[int, Bounds(least=1, most=100_000)] = 20,
        space: Literal["normalized", "pixel"] = "normalized",
        clip: Literal["data_range", "galloway", "none"] = "data_range",
        mean: tuple[float, ...] | None = None,
        std: tuple[float, ...] | None = None,
    ) -> None:
        super().__init__()
        self.eps = eps
        self.step = step
        self.steps = steps
        self.space = InputSpace(space, clip, mean, std)

    def forward(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        with preserve_state(model), torch.inference_mode(False), torch.enable_grad():
            model.eval()
            clean, labels = x.detach().clone(), y.clone()
            eps, step = self.space.to_input_units(self.eps, clean), self.space.to_input_units(self.step, clean)
            low, high = clean - eps, clean + eps
            moved = clean
            for _ in range(self.steps):
                moved = moved.detach().requires_grad_()
                loss = F.cross_entropy(model(moved), labels, reduction="sum")
                (gradient,) = torch.autograd.grad(loss, moved)
                moved = torch.clamp(moved.detach() + step * gradient.sign(), low, high)
                moved = self.space.clip(moved, clean=clean)
        return moved.detach()

    def clip_only(self, x: Tensor) -> Tensor:
        """Clean inputs, clipped as this attack clips its result."""
        return self.space.clip(x)
