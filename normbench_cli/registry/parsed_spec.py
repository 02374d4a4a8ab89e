"""A parsed spec: a component and the parameters that the spec sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

from normbench_cli.registry.entry import Entry
from normbench_cli.registry.facts import FactsT
from normbench_cli.registry.spec import join_spec


@dataclass(frozen=True)
class Spec(Generic[FactsT]):
    """A component with its parameters in canonical form: typed, sorted, defaults left out.

    written: the parameters that the text sets, including those at their default.
    """

    entry: Entry[FactsT]
    params: Mapping[str, Any] = field(default_factory=dict)
    written: frozenset[str] = field(default=frozenset(), compare=False)

    def __str__(self) -> str:
        return join_spec(self.entry.name, dict(sorted(self.params.items())))
