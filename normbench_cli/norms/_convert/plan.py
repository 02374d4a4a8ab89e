"""The first phase of `convert`: decide everything and create all layers, without changing the model."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.nn.utils.parametrize import is_parametrized

from normbench_cli.norms._convert.adjacency import Adjacency, find_adjacency
from normbench_cli.norms._convert.prenorm import PreNorm
from normbench_cli.norms._convert.replacement import (
    Target,
    is_norm_like,
    make_replacement,
    match_device_and_mode,
    precedes_operation,
    reason_kept,
)
from normbench_cli.norms._convert.report import Conversion
from normbench_cli.norms._weights.filters import filter_axis
from normbench_cli.operations import Operation, in_features_of
from normbench_cli.registry import NORMS
from normbench_cli.registry.facts import NormFacts
from normbench_cli.registry.parsed_spec import Spec

MODEL_ITSELF = "the model itself cannot be swapped in place: put it into a Sequential"


@dataclass
class ConversionPlan:
    """The planned changes to a model, and the report on them."""

    model: nn.Module
    target: Target
    report: Conversion
    names: dict[nn.Module, str]  # every module of the model once, in order of definition
    adjacency: Adjacency = field(default_factory=Adjacency)
    replacements: dict[nn.Module, nn.Module] = field(default_factory=dict)  # module -> its replacement
    removed: list[nn.Module] = field(default_factory=list)  # norms whose place becomes empty
    weight_norms: dict[nn.Module, list[Spec[NormFacts]]] = field(default_factory=dict)  # operation -> its norms
    biases: dict[nn.Module, nn.Module | None] = field(default_factory=dict)  # operation -> the norm whose beta it gets
    in_place: list[nn.Module] = field(default_factory=list)  # activations that must no longer overwrite their input

    @property
    def bare(self) -> dict[nn.Module, nn.Module]:
        """Operations that lose the norm after them -> that norm."""
        producer = self.adjacency.producer
        return {producer[norm]: norm for norm in self.removed if norm in producer}

    def replace(self, norm: nn.Module, *, empty: bool) -> None:
        """Replace a norm by the spec's layer or, if `empty`, by no norm."""
        name = self.names[norm]
        if empty:
            self.replacements[norm] = NORMS.build("none", num_features=norm.num_features)
            match_device_and_mode(self.replacements[norm], norm, self.model)
        else:
            self.replacements[norm], notes = make_replacement(norm, self.target, self.model)
            if notes:
                self.report.notes[name] = "; ".join(notes)
        self.report.converted[name] = "none" if empty else self.target.layer_spec


def plan_conversion(model: nn.Module, spec: str, example: Any = None) -> ConversionPlan:
    """Plan to replace the norms of a model by those of a spec; arguments as in `convert`."""
    target = Target(spec)
    names = {module: name for name, module in model.named_modules()}  # a module used twice appears once
    plan = ConversionPlan(model, target, Conversion(str(target.spec)), names)
    norms, leading = find_norms(plan)
    plan.adjacency = find_adjacency(model, norms, example)
    plan_norms(plan, norms)
    plan_leading_norms(plan, leading)
    plan_prenorms(plan, leading)
    plan_weight_norms(plan)
    plan_biases(plan)
    plan_activations(plan)
    return plan


def find_norms(plan: ConversionPlan) -> tuple[list[nn.Module], list[nn.Module]]:
    """The norms to convert: those placed by the model's author, and those made to precede an operation."""
    wrapped = wrappers_of(plan)
    norms: list[nn.Module] = []
    leading: list[nn.Module] = []
    for module, name in plan.names.items():
        if not is_norm_like(module, name):
            continue
        reason = reason_kept(module, name, plan.target)
        if reason:
            plan.report.kept[name or "the model"] = reason
        elif module in wrapped or precedes_operation(module):
            leading.append(module)
        else:
            norms.append(module)
    return norms, leading


def wrappers_of(plan: ConversionPlan) -> dict[nn.Module, PreNorm]:
    return {module.norm: module for module in plan.names if isinstance(module, PreNorm)}


def plan_norms(plan: ConversionPlan, norms: list[nn.Module]) -> None:
    """Replace the norms placed by the model's author, or remove them if the spec has none there."""
    near = plan.adjacency
    for norm in norms:
        if not plan.target.leaves_place_empty:
            plan.replace(norm, empty=False)
        elif norm in near.producer or near.consumers[norm]:
            plan.replace(norm, empty=True)
            plan.removed.append(norm)
        else:
            plan.report.kept[plan.names[norm]] = "no operation stands next to it"


def plan_leading_norms(plan: ConversionPlan, leading: list[nn.Module]) -> None:
    """Replace the norms made to precede an operation where they are, or remove them."""
    wrapped = wrappers_of(plan)
    for norm in leading:
        name = plan.names[norm]
        if plan.target.before:
            plan.replace(norm, empty=False)
        elif norm in wrapped:
            plan.replacements[wrapped[norm]] = wrapped[norm].op
            plan.report.converted[name] = "none"
        elif plan.target.leaves_place_empty:
            plan.replace(norm, empty=True)
        else:
            plan.report.kept[name] = "it stands before its operation: add placement=before to the spec"


def plan_prenorms(plan: ConversionPlan, leading: list[nn.Module]) -> None:
    """Put new norms before operations, if the spec's norm belongs there."""
    if not plan.target.before:
        return
    led = operations_after(leading, plan.names)
    for op, reason in operations_to_lead(plan).items():
        if op in led:
            continue
        if op is plan.model:
            plan.report.kept["the model"] = MODEL_ITSELF
            continue
        norm = plan.target.layer(in_features_of(op), {})
        match_device_and_mode(norm, op, plan.model)
        plan.replacements[op] = PreNorm(norm, op)
        plan.report.in_front[plan.names[op]] = reason


def operations_to_lead(plan: ConversionPlan) -> dict[nn.Module, str]:
    """Operations that need the spec's norm before them -> why."""
    near, target, bare = plan.adjacency, plan.target, plan.bare
    found = {op: f"it fed {plan.names[norm]}" for op, norm in bare.items()}
    for norm in plan.removed:
        for op in near.consumers[norm]:
            if op.bias is None or norm not in near.producer:
                found.setdefault(op, f"{plan.names[norm]} fed it")
    if near.operations:
        first, last = near.operations[0], near.operations[-1]
        if target.spec.first:
            found.setdefault(first, "the first operation")
        else:
            found.pop(first, None)
        if last not in bare and target.spec.classifier:
            found[last] = "the classifier"
        elif last not in bare:
            found.pop(last, None)
    return found


def operations_after(leading: list[nn.Module], names: Mapping[nn.Module, str]) -> set[nn.Module]:
    """Operations that already have a norm before them: the next one after each norm in order of definition."""
    modules = list(names)
    after = (next((m for m in modules[modules.index(norm) :] if isinstance(m, Operation)), None) for norm in leading)
    return {op for op in after if op is not None}


def plan_weight_norms(plan: ConversionPlan) -> None:
    """Plan the spec's weight norms, for every operation that can have them."""
    fed_a_norm = set(plan.adjacency.producer.values())
    holders = Counter(parameter for module in plan.names for parameter in module._parameters.values())
    for op in (module for module in plan.names if isinstance(module, Operation)):
        wanted = [s for s in plan.target.spec.weight_norms if op in fed_a_norm or not s.entry.facts.only_before_norms]
        problem = weight_problem(op, holders)
        if wanted and problem:
            plan.report.kept[plan.names[op]] = problem
        elif wanted:
            if not plan.weight_norms:
                try_weight_norms(wanted, op)
            plan.weight_norms[op] = wanted
            plan.report.weights.append(plan.names[op])


def weight_problem(op: nn.Module, holders: Mapping[nn.Parameter | None, int]) -> str:
    """Why the weight of an operation cannot be normalized; "" if it can."""
    weight = op._parameters.get("weight")
    if is_parametrized(op, "weight") or weight is None:
        return "its weight is computed from other parameters already"
    if is_lazy(weight):
        return "it does not know its shape yet: run the model once"
    if holders[weight] > 1:
        return "other modules share its weight"
    try:
        filter_axis(op)
    except ValueError as error:
        return str(error)
    return ""


def try_weight_norms(specs: list[Spec[NormFacts]], op: nn.Module) -> None:
    """Wrap a copy, so that a wrong parameter is found before the model changes; keep the random state."""
    device = next(op.parameters()).device
    with torch.random.fork_rng([] if device.index is None else [device.index], device_type=device.type):
        tried = copy.deepcopy(op)
        for spec in specs:
            NORMS.build(str(spec), op=tried)


def plan_biases(plan: ConversionPlan) -> None:
    """Plan a bias for every operation without one that loses its norm or was fed by a removed one."""
    near, bare = plan.adjacency, plan.bare
    served = {op for norm in plan.removed if norm not in near.producer for op in near.consumers[norm]}
    for op, name in plan.names.items():
        loses = op in bare or op in plan.replacements or op in served
        if isinstance(op, Operation) and op.bias is None and loses:
            plan.biases[op] = bare.get(op)
            plan.report.biases.append(name)


def plan_activations(plan: ConversionPlan) -> None:
    """Plan to stop in-place activations from overwriting the input of a removed norm, such as the shortcut of a
    residual block; the norm's output was a copy."""
    if all(norm in plan.adjacency.producer for norm in plan.removed):
        return
    plan.in_place = [module for module in plan.names if getattr(module, "inplace", False) is True]
    if plan.in_place:
        reason = "not in place any more, because the norm before may be gone"
        plan.report.notes[f"{len(plan.in_place)} activations"] = reason
