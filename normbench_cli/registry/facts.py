"""What a component may declare about itself when it is registered: one frozen dataclass for each kind of component.

A fact is a keyword of the decorator, ``@NORMS.register("name", placement="before")``.  Facts are read from the source
without importing it, so their values are literals.  A misspelled fact or a value of the wrong type is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from normbench_cli.errors import UsageError
from normbench_cli.registry.spec import suggest


@dataclass(frozen=True)
class NormFacts:
    """Facts of a normalization layer.

    placement: the layer follows the operation (after), precedes it (before) or normalizes its weight (weight).
    removes_mean: the output has mean zero per channel, so a bias of the operation before it has no effect.
    needs_batch: statistics are taken over the batch.
    batch_free_with: parameters, each as ``key=value``, with which no batch is needed.
    graphs: the layer is called with (x, batch) and takes its statistics per graph.
    only_before_norms: a weight norm that is applied only to operations followed by a norm.
    """

    placement: Literal["after", "before", "weight"] = "after"
    removes_mean: bool = False
    needs_batch: bool = False
    batch_free_with: tuple[str, ...] = ()
    graphs: bool = False
    only_before_norms: bool = False


@dataclass(frozen=True)
class ActivationFacts:
    """Facts of an activation function.

    init: the weight initialization that ``--init auto`` chooses for it.
    """

    init: Literal["kaiming", "xavier"] = "kaiming"


@dataclass(frozen=True)
class ModelFacts:
    """Facts of a network.

    graphs: it classifies graphs, not images.
    revision: counts the changes after which the same spec computes something else.  From 2 on it is part of a run's
    fingerprint, so that earlier runs are not mistaken for runs of the current network.
    """

    graphs: bool = False
    revision: int = 1


@dataclass(frozen=True)
class DataFacts:
    """Facts of a data set.

    graphs: its examples are graphs, not images.
    recipe: the default recipe.
    files: a function of the data set's parameters, ``package.module:function``, that lists the files and folders to
    read, or nothing if they are missing.  It must not need torch.
    """

    graphs: bool = False
    recipe: str = ""
    files: str = ""


@dataclass(frozen=True)
class ObjectiveFacts:
    """Facts of an objective: none yet."""


@dataclass(frozen=True)
class AttackFacts:
    """Facts of an attack: none yet."""


@dataclass(frozen=True)
class CorruptionFacts:
    """Facts of a corruption.

    family: the family of a computed corruption; empty for one that is read from published files.
    extra: it is not one of the fifteen over which the paper averages.
    files: it needs files that are not part of normbench.
    data: the data set whose published corrupted test set it is; empty for a computed corruption.
    """

    family: Literal["", "noise", "blur", "weather", "digital"] = ""
    extra: bool = False
    files: bool = False
    data: str = ""


@dataclass(frozen=True)
class ScheduleFacts:
    """Facts of a learning-rate schedule: none yet."""


FactsT = TypeVar("FactsT")


def make_facts(kind: str, facts_type: type[FactsT], given: Mapping[str, Any], where: str) -> FactsT:
    """Make and check the facts of a component; `where` names the file in the message."""
    types = get_type_hints(facts_type)
    for name, value in given.items():
        if name not in types:
            do = suggest(name, list(types)) if types else f"no {kind} has facts"
            raise UsageError(f"{where}: '{name}' is not a fact of this {kind}", do)
        if not is_of_type(value, types[name]):
            raise UsageError(
                f"{where}: the fact {name}={value!r} of this {kind} has the wrong type", allowed(types[name])
            )
    return facts_type(**given)


def is_of_type(value: Any, expected: Any) -> bool:
    """Whether a literal has a fact's type; True is not a number, and a list is not a tuple."""
    if get_origin(expected) is Literal:
        return value in get_args(expected)
    if get_origin(expected) is tuple:
        return type(value) is tuple and all(is_of_type(item, get_args(expected)[0]) for item in value)
    return type(value) is expected


def allowed(expected: Any) -> str:
    if get_origin(expected) is Literal:
        return f"choose from {', '.join(repr(choice) for choice in get_args(expected))}"
    return f"write {'a tuple of strings' if get_origin(expected) is tuple else f'a {expected.__name__}'}"
