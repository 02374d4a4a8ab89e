"""`convert` gives any model another normalization in place: torchvision's networks and people's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from torch import Tensor, nn
from torch.nn import Parameter
from torch.nn.parameter import is_lazy
from torch.nn.utils.parametrize import is_parametrized

from normbench_cli.norms._convert.adjacency import Adjacency, find_adjacency
from normbench_cli.norms._convert.prenorm import PreNorm
from normbench_cli.norms._convert.replacement import (
    Target,
    facts_of,
    is_norm_like,
    make_replacement,
    match_device_and_mode,
    reason_kept,
)
from normbench_cli.norms._weights.filters import filter_axis
from normbench_cli.operations import Operation, in_features_of, out_features_of
from normbench_cli.registry import NORMS


@dataclass
class Conversion:
    """What `convert` did, by the names that the model's modules had before."""

    spec: str
    converted: dict[str, str] = field(default_factory=dict)  # norm -> what stands there now
    in_front: dict[str, str] = field(default_factory=dict)  # operation with a norm before it now -> why this one
    weights: list[str] = field(default_factory=list)  # operations whose weight is normalized now
    biases: list[str] = field(default_factory=list)  # operations that got a bias, because the norm's is gone
    kept: dict[str, str] = field(default_factory=dict)  # what was left as it was -> why
    notes: dict[str, str] = field(default_factory=dict)  # what is different now and might surprise

    def __str__(self) -> str:
        lines = [f"{count} norms became {what}" for what, count in Counter(self.converted.values()).items()]
        counts = {"norms in front of operations": self.in_front, "weights normalized": self.weights}
        lines += [f"{len(where)} {what}" for what, where in counts.items() if where]
        lines += [f"{len(self.biases)} operations got a bias"] if self.biases else []
        lines += [f"kept {name}: {why}" for name, why in self.kept.items()]
        lines += [f"{name}: {what}" for name, what in self.notes.items()]
        return "\n".join(lines or ["nothing to convert"])


def convert(model: nn.Module, spec: str, example: Any = None) -> Conversion:
    """Swap the norms of a model for those of a spec, in place, and say what was done and what was not.

    Torch's batch norms (synchronized ones too) and normbench's own layers are converted.  The new layer keeps gamma and
    beta (the same parameters, so an optimizer still holds them), running statistics, eps, momentum, dtype, device and
    mode, as far as it has them.  Other norms are kept and named in the report; a batch norm that somebody's `forward`
    calls as a function cannot be seen.  A spec says everything: `wn` leaves no norm of data, `wn+bn` does.

    A norm placed before the operation (`popnorm`) goes in front of every operation that fed a norm, of one without bias
    that a norm fed (the pre-activation order of DenseNet) and, unless the spec says first=false or classifier=false, of
    the first and of the last one.  Norms of weights go onto every operation, weight standardization only onto those
    that fed a norm.  An operation that lost its norm gets a bias: the norm's beta.

    example: an input of the model, or a tuple of them.  Which operation stands next to which norm is then read off one
    run, in evaluation mode; without it, off the order of definition, which is right for most models.
    """
    target = Target(spec)
    report = Conversion(NORMS.canonical(spec))
    names = {module: name for name, module in model.named_modules()}  # a module used twice is here once
    wrapped = {module.norm: module for module in names if isinstance(module, PreNorm)}
    norms: list[nn.Module] = []  # they stand where the model's author put them
    ahead: list[nn.Module] = []  # they were made to stand before an operation
    for module, name in names.items():
        if is_norm_like(module, name):
            why = reason_kept(module, name, target)
            if why:
                report.kept[name or "the model"] = why
            else:
                leads = module in wrapped or ((facts := facts_of(module)) is not None and facts.placement == "before")
                (ahead if leads else norms).append(module)
    near = find_adjacency(model, norms, example)

    swap: dict[nn.Module, nn.Module] = {}
    removed: list[nn.Module] = []

    def put(norm: nn.Module, empty: bool) -> None:
        if empty:
            swap[norm] = NORMS.build("none", num_features=norm.num_features)
            match_device_and_mode(swap[norm], norm, model)
        else:
            swap[norm], notes = make_replacement(norm, target, model)
            if notes:
                report.notes[names[norm]] = "; ".join(notes)
        report.converted[names[norm]] = "none" if empty else target.name

    for norm in norms:
        if target.empties and norm not in near.producer and not near.consumers[norm]:
            report.kept[names[norm]] = "no operation stands next to it"
        else:
            put(norm, target.empties)
            removed += [norm] if target.empties else []
    for norm in ahead:
        if target.before:
            put(norm, False)
        elif norm in wrapped:
            swap[wrapped[norm]] = wrapped[norm].op
            report.converted[names[norm]] = "none"
        elif target.empties:
            put(norm, True)
        else:
            report.kept[names[norm]] = "it stands before its operation: add placement=before to the spec"

    bare = {near.producer[norm]: norm for norm in removed if norm in near.producer}  # operations that lost their norm
    for op, reason in operations_to_lead(target, near, removed, bare, names, following(ahead, names)).items():
        if op is model:
            report.kept["the model"] = "the model itself cannot be swapped in place: put it into a Sequential"
            continue
        lead = target.layer(in_features_of(op), {})
        match_device_and_mode(lead, op, model)
        swap[op] = PreNorm(lead, op)
        report.in_front[names[op]] = reason

    # All layers are made; from here on the model changes.
    wrap_weights(target, near, names, report)
    served = {op for norm in removed if norm not in near.producer for op in near.consumers[norm]}
    for op in names:
        if isinstance(op, Operation) and op.bias is None and (op in bare or op in swap or op in served):
            give_bias(op, bare.get(op))
            report.biases.append(names[op])

    for parent in names:
        for name, child in parent._modules.items():
            if child in swap:
                parent._modules[name] = swap[child]
    if any(norm not in near.producer for norm in removed):
        spare_inputs(names, report)
    return report


def operations_to_lead(
    target: Target,
    near: Adjacency,
    removed: list[nn.Module],
    bare: Mapping[nn.Module, nn.Module],
    names: Mapping[nn.Module, str],
    led: set[nn.Module],
) -> dict[nn.Module, str]:
    """The operations that get a norm in front of them -> why.  Those in `led` have one already."""
    if not target.before:
        return {}
    found = {op: f"it fed {names[norm]}" for op, norm in bare.items()}
    for norm in removed:
        for op in near.consumers[norm]:
            if op.bias is None or norm not in near.producer:
                found.setdefault(op, f"{names[norm]} fed it")
    if near.operations:
        first, last = near.operations[0], near.operations[-1]
        if target.first:
            found.setdefault(first, "the first operation")
        else:
            found.pop(first, None)
        if last not in bare and target.classifier:
            found[last] = "the classifier"
        elif last not in bare:
            found.pop(last, None)
    return {op: reason for op, reason in found.items() if op not in led}


def following(ahead: list[nn.Module], names: Mapping[nn.Module, str]) -> set[nn.Module]:
    """The operations that have a norm before them already: the next one defined."""
    line = list(names)
    after = (next((m for m in line[line.index(norm) :] if isinstance(m, Operation)), None) for norm in ahead)
    return {op for op in after if op is not None}


def wrap_weights(target: Target, near: Adjacency, names: Mapping[nn.Module, str], report: Conversion) -> None:
    """Put the spec's norms of weights onto the operations; the report says where, and where that cannot be."""
    fed_a_norm = set(near.producer.values())
    holders = Counter(parameter for module in names for parameter in module._parameters.values())
    for op in (m for m in names if isinstance(m, Operation)) if target.weights else ():
        wanted = [s for s in target.weights if op in fed_a_norm or not s.entry.facts.only_before_norms]
        weight, problem = op._parameters.get("weight"), ""
        try:
            filter_axis(op)
        except ValueError as error:
            problem = str(error)
        if is_parametrized(op, "weight") or weight is None:
            problem = "its weight is computed from other parameters already"
        elif is_lazy(weight):
            problem = "it does not know its shape yet: run the model once"
        elif holders[weight] > 1:
            problem = "other modules share its weight"
        if problem and wanted:
            report.kept[names[op]] = problem
        elif wanted:
            for spec in wanted:
                NORMS.build(str(spec), op=op)
            report.weights.append(names[op])


def give_bias(op: nn.Module, norm: nn.Module | None) -> None:
    """A bias for an operation, with the value of the beta of the norm it lost."""
    beta = getattr(norm, "bias", None)
    bias = cast(Tensor, op.weight).detach().new_zeros(out_features_of(op))
    if isinstance(beta, Tensor):
        bias.copy_(beta.detach())
    op.bias = Parameter(bias)


def spare_inputs(names: Mapping[nn.Module, str], report: Conversion) -> None:
    """A norm that is gone made a copy of its input, which an activation in place may have overwritten; now it would
    overwrite the input itself, such as the shortcut of a residual block."""
    changed = [module for module in names if getattr(module, "inplace", False) is True]
    for module in changed:
        module.inplace = False  # type: ignore[assignment]
    if changed:
        report.notes[f"{len(changed)} activations"] = "not in place any more, because the norm before may be gone"
