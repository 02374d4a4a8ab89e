"""Parsed norm specs: which parts normalize weights, which one normalizes data, and where that one is placed.

Weight norms may be joined with one data norm, ``ws+gn:groups=8``.  The placement options (``placement``, ``first``,
``classifier``) apply to the model around the layer, so every norm accepts them and none receives them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

from normbench_cli.errors import UsageError
from normbench_cli.registry.entry import Entry
from normbench_cli.registry.facts import NormFacts
from normbench_cli.registry.parameters import REQUIRED, Parameter
from normbench_cli.registry.parsed_spec import Spec
from normbench_cli.registry.registry import Registry
from normbench_cli.registry.spec import split_joined, suggest
from normbench_cli.registry.trust import USER, Trust

PLACEMENT_OPTIONS = {
    "placement": Parameter(Literal["after", "before"], None),
    "first": Parameter(bool, None),
    "classifier": Parameter(bool, None),
}


FEATURES = "num_features"
USUAL_NAMES = ("num_channels", "in_channels", "channels", "num_filters", "normalized_shape", "hidden_channels", "dim")
CHANNELS_AS = "channels_as"  # the option by which a spec for an external layer names that parameter


def features_parameter(entry: Entry[NormFacts], given: Mapping[str, Any] = MappingProxyType({})) -> str:
    """The name of a layer's parameter for the number of features: `num_features`.  For an external layer, the name that
    the spec gives as `channels_as`, else a parameter with a usual name, else the first required one that is not set."""
    signature = entry.signature
    if named := given.get(CHANNELS_AS):
        if named not in signature.parameters:
            do = suggest(str(named), list(signature.parameters))
            raise UsageError(f"norm '{entry.name}' has no parameter '{named}' for its channels", do)
        return str(named)
    if FEATURES in signature.names or signature.takes_any or "op" in signature.names:
        return FEATURES
    required = [name for name in required_parameters(entry) if name not in given]
    return next((name for name in required if name in USUAL_NAMES), next(iter(required), FEATURES))


def required_parameters(entry: Entry[NormFacts]) -> list[str]:
    return [name for name, parameter in entry.signature.parameters.items() if parameter.default is REQUIRED]


def is_from_outside(entry: Entry[NormFacts]) -> bool:
    return not entry.module.startswith("normbench_cli.")


@dataclass(frozen=True)
class NormSpec:
    """A parsed norm spec; its text is the canonical form."""

    parts: tuple[Spec[NormFacts], ...]

    def __str__(self) -> str:
        return "+".join(map(str, self.parts))

    @cached_property
    def weight_norms(self) -> tuple[Spec[NormFacts], ...]:
        """The parts that normalize the weights of operations, in order."""
        return tuple(part for part in self.parts if part.entry.facts.placement == "weight")

    @cached_property
    def data_norm(self) -> Spec[NormFacts] | None:
        """The part that is a layer, perhaps ``none``; None if only weights are normalized."""
        return next((part for part in self.parts if part.entry.facts.placement != "weight"), None)

    @property
    def normalizes_data(self) -> bool:
        return self.data_norm is not None and self.data_norm.entry.name != "none"

    @property
    def placement(self) -> Literal["after", "before"]:
        """Where the data norm is placed relative to the operation."""
        own = self._facts.placement
        return "before" if self._option("placement", own) == "before" else "after"

    @property
    def first(self) -> bool:
        """Whether a norm placed before operations also precedes the first one, whose input is the model's input."""
        return bool(self._option("first", True))

    @property
    def classifier(self) -> bool:
        """Whether a norm placed before operations also precedes the classifier.  A graph norm cannot: the classifier
        sees graphs, not their nodes."""
        return bool(self._option("classifier", True)) and not self.graphs

    @property
    def graphs(self) -> bool:
        """Whether the data norm takes its statistics per graph."""
        return self._facts.graphs

    @property
    def removes_mean(self) -> bool:
        """Whether the data norm cancels the bias of an operation before it."""
        return self._facts.removes_mean

    @property
    def needs_batch(self) -> bool:
        """Whether statistics are taken over the batch, with the parameters of this spec."""
        return any(takes_batch_statistics(part) for part in self.parts)

    @property
    def _facts(self) -> NormFacts:
        return self.data_norm.entry.facts if self.data_norm else NormFacts()

    def _option(self, name: str, default: object) -> object:
        return self.data_norm.params.get(name, default) if self.data_norm else default


def takes_batch_statistics(part: Spec[NormFacts]) -> bool:
    written = {f"{key}={value}" for key, value in part.params.items()}
    return part.entry.facts.needs_batch and not written & set(part.entry.facts.batch_free_with)


class NormRegistry(Registry[NormFacts]):
    """The registry of norms, whose specs may be joined and may have placement options."""

    def parse_norm(self, text: str, trust: Trust = USER) -> NormSpec:
        """Parse a whole norm spec, ``ws+gn:groups=8``."""
        norm = NormSpec(tuple(self.parse(part, trust) for part in split_joined(text)))
        if len(norm.parts) - len(norm.weight_norms) > 1:
            raise UsageError(f"'{text}' joins two norms of data", "join one of data and any of weights")
        return norm

    def canonical(self, text: str, trust: Trust = USER) -> str:
        return str(self.parse_norm(text, trust))

    def outside(self, text: str) -> list[str]:
        return [name for part in split_joined(text) for name in super(NormRegistry, self).outside(part)]

    def parameters(self, entry: Entry[NormFacts]) -> dict[str, Parameter]:
        own, features = super().parameters(entry), features_parameter(entry)
        if features in (FEATURES, *USUAL_NAMES) or len(required_parameters(entry)) < 2:  # the parameter is unambiguous
            own = {key: own[key] for key in own if key != features}
        more = {CHANNELS_AS: Parameter(str, None)} if is_from_outside(entry) else {}
        return own | PLACEMENT_OPTIONS | more

    def _arguments(self, spec: Spec[NormFacts], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        name = features_parameter(spec.entry, spec.params)
        arguments = super()._arguments(spec, {name if key == FEATURES else key: kwargs[key] for key in kwargs})
        return {key: value for key, value in arguments.items() if key not in (*PLACEMENT_OPTIONS, CHANNELS_AS)}

    def _check_contract(self, component: object, entry: Entry[NormFacts]) -> None:
        super()._check_contract(component, entry)
        if not isinstance(component, type) and entry.facts.placement != "weight":
            raise UsageError(
                f"norm '{entry.name}' is a function of op, as norms of weights are, and not registered as one",
                "decorate it with @NORMS.register(..., placement='weight')",
            )
