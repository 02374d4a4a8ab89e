"""`convert` changes the normalization of any model in place: torchvision's networks and your own."""

from __future__ import annotations

from typing import Any

from torch import nn

from normbench_cli.norms._convert.apply import apply_conversion
from normbench_cli.norms._convert.plan import plan_conversion
from normbench_cli.norms._convert.report import Conversion


def convert(model: nn.Module, spec: str, example: Any = None) -> Conversion:
    """Replace the norms of a model by those of a spec, in place; report what was done and what was not.

    Torch's batch norms (synchronized ones too) and normbench's own layers are converted.  The new layer keeps gamma and
    beta (the same parameters, so an optimizer still holds them), running statistics, eps, momentum, dtype, device and
    mode, as far as it has them.  Other norms are kept and listed in the report; a batch norm called as a function in a
    `forward` is not detected.  The spec is the whole normalization: `wn` leaves no norm of data, `wn+bn` does.

    A norm placed before the operation (`popnorm`) goes in front of every operation that fed a norm, every operation
    without bias that a norm fed (the pre-activation order of DenseNet) and, unless the spec says first=false or
    classifier=false, the first and the last one.  Weight norms go onto every operation, weight standardization only
    onto those that fed a norm.  An operation that lost its norm gets a bias: the norm's beta.

    example: an input of the model, or a tuple of them.  One run in evaluation mode then traces which operation is next
    to which norm; otherwise this is guessed from the order of definition, which is right for most models.
    """
    plan = plan_conversion(model, spec, example)
    apply_conversion(plan)
    return plan.report
