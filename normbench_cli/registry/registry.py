"""The components of one kind, found by name, and the specs that name them with their parameters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

from normbench_cli.errors import UsageError
from normbench_cli.registry.bounds import checking_arguments
from normbench_cli.registry.contract import Contract
from normbench_cli.registry.entry import Entry, Metadata, Registration, registrations
from normbench_cli.registry.facts import FactsT
from normbench_cli.registry.outside import (
    REMEDY,
    describe_by_name,
    describe_object,
    describe_registration,
    import_component,
    refusals_in_one_line,
)
from normbench_cli.registry.parameters import REQUIRED, Parameter
from normbench_cli.registry.parsed_spec import Spec
from normbench_cli.registry.source import Unreadable, parse_module, source_file
from normbench_cli.registry.spec import first_line, read_value, split_spec, suggest
from normbench_cli.registry.trust import USER, Trust

ComponentT = TypeVar("ComponentT", bound=Callable[..., Any])


class Registry(Generic[FactsT]):
    """All components of one kind."""

    def __init__(
        self,
        kind: str,
        package: str,
        facts_type: type[FactsT],
        contract: Contract,
        supplied: tuple[str, ...] = (),
        offered: tuple[str, ...] = (),
    ) -> None:
        """package: contains the modules of the components.  facts_type: what they may declare.  contract: the interface
        of external components.  supplied: parameters that the program sets and a spec may not.  offered: the same, but
        omitted for components that do not have them."""
        self.kind = kind
        self.package = package
        self.facts_type = facts_type
        self.contract = contract
        self.supplied = (*supplied, *offered)
        self.offered = offered

    def register(
        self,
        name: str,
        *,
        aliases: tuple[str, ...] = (),
        paper: str = "",
        summary: str = "",
        bounds: Mapping[str, Mapping[str, Any]] | None = None,
        **facts: Any,
    ) -> Callable[[ComponentT], ComponentT]:
        """Decorate a component: its arguments are then checked against the bounds in its annotations.  Inside
        normbench's packages the decorator's arguments are read from the source, so they must be literals; here they are
        checked and stored on the component, for external classes and functions.

        bounds: of parameters of third-party classes, as keywords of `Bounds`.
        """

        def attach(component: ComponentT) -> ComponentT:
            module = component.__module__
            said = summary or first_line(component.__doc__)
            registration = Registration(name, component.__qualname__, aliases, said, paper, facts, bounds or {})
            file = getattr(sys.modules.get(module), "__file__", None) or module
            entry = self._registered(registration, module, file)
            if module.startswith("torch."):  # torch's own classes are not modified
                return component
            component = checking_arguments(component)
            component.normbench_entry = entry  # type: ignore[attr-defined]
            return component

        return attach

    @cached_property
    def entries(self) -> dict[str, Entry[FactsT]]:
        """Name -> entry, from the package's files and from entry points, sorted by name."""
        found: dict[str, Entry[FactsT]] = {}
        for module in self._modules():
            file = str(source_file(module))
            try:
                declared = list(registrations(parse_module(module)))
            except Unreadable as error:
                raise UsageError(f"{file} cannot be read: {error}", "fix the file") from error
            for registration in declared:
                if registration.name in found:
                    raise UsageError(f"two {self.kind} components are named '{registration.name}'", "rename one")
                found[registration.name] = self._registered(registration, module, file)
        for entry in self._entry_points():
            found.setdefault(entry.name, entry)
        return dict(sorted(found.items()))

    def find(self, name: str, trust: Trust = USER) -> Entry[FactsT]:
        """The entry of a name, an alias, or ``package.module:attribute``; the latter is imported if `trust` allows."""
        wanted, colon, attribute = name.strip().partition(":")
        if colon and wanted.lower() not in self.entries:
            return self._outside(name, trust)
        if colon:
            raise UsageError(f"'{attribute}' in '{name}' is not key=value", f"write {wanted}:{attribute}=value")
        wanted = wanted.lower()
        for entry in self.entries.values():
            if wanted == entry.name.lower() or wanted in entry.aliases:
                return entry
        raise UsageError(f"unknown {self.kind} '{name}'", suggest(wanted, self.choices()))

    def outside(self, text: str) -> list[str]:
        """The ``package.module:attribute`` names in a spec, without importing them."""
        name, colon, _ = split_spec(text)[0].partition(":")
        return [split_spec(text)[0]] if colon and name.lower() not in self.entries else []

    def choices(self) -> list[str]:
        return list(self.entries)

    def parse(self, text: str, trust: Trust = USER) -> Spec[FactsT]:
        """Parse one component's spec into canonical form.  trust: what may be imported for it."""
        name, params = split_spec(text)
        entry = self.find(name, trust)
        if not params:
            return Spec(entry)
        accepted = self.parameters(entry)
        typed: dict[str, Any] = {}
        for key, value in params.items():
            if key not in accepted:
                raise UsageError(f"{self.kind} '{entry.name}' has no parameter '{key}'", suggest(key, list(accepted)))
            parameter = accepted[key]
            typed[key] = read_value(value, parameter.type, f"{entry.name}:{key}")
            parameter.bounds.check(f"{entry.name}:{key}", typed[key])
            if typed[key] == parameter.default and type(typed[key]) is type(parameter.default):
                del typed[key]
        return Spec(entry, typed, frozenset(params))

    def canonical(self, text: str, trust: Trust = USER) -> str:
        return str(self.parse(text, trust))

    def recorded_form(self, text: str) -> str:
        """The canonical form, for comparison with recorded specs; the spec of an external component is unchanged,
        because only an import could tell which of its parameters have their default."""
        return text.strip() if self.outside(text) else self.canonical(text)

    def parameters(self, entry: Entry[FactsT]) -> dict[str, Parameter]:
        """The parameters that a spec may set, by name."""
        return entry.parameters

    def build(self, text: str, *args: Any, **kwargs: Any) -> Any:
        """Build the component from the spec's parameters and the keyword arguments, both checked.  The result depends
        on the kind: a module for a norm, a data set for data."""
        spec = self.parse(text)
        takes = self.parameters(spec.entry)
        for key, value in kwargs.items():
            if key in takes:
                takes[key].bounds.check(f"{spec.entry.name}:{key}", value)
            elif key not in self.supplied:
                raise UsageError(f"{self.kind} '{spec.entry.name}' has no parameter '{key}'", suggest(key, list(takes)))
        component = spec.entry.load()
        if not spec.entry.module.startswith(self.package):
            self._check_contract(component, spec.entry)
        arguments = self._arguments(spec, kwargs)
        if not args:
            self._check_complete(spec, arguments)
        if self.contract.bound and not isinstance(component, type):
            return partial(component, *args, **arguments)
        with refusals_in_one_line(self.kind, text, spec.entry.module):
            return component(*args, **arguments)

    def _arguments(self, spec: Spec[FactsT], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The keyword arguments for the component."""
        arguments = {**spec.params, **kwargs}
        signature = spec.entry.signature
        unknown = [key for key in kwargs if key in self.supplied and key not in signature.names]
        for key in () if signature.takes_any else unknown:
            if key not in self.offered:
                raise UsageError(f"{self.kind} '{spec.entry.name}' does not take '{key}'", "add it to its parameters")
            del arguments[key]
        return arguments

    def _check_complete(self, spec: Spec[FactsT], arguments: Mapping[str, Any]) -> None:
        for name, default in spec.entry.defaults.items():
            if default is REQUIRED and name not in arguments:
                raise UsageError(
                    f"{self.kind} '{spec.entry.name}' needs '{name}'", f"write {spec.entry.name}:{name}=..."
                )

    def _check_contract(self, component: object, entry: Entry[FactsT]) -> None:
        """Refuse an external component that violates the contract."""
        if not self.contract.accepts(component):
            raise UsageError(f"{self.kind} '{entry.name}' is not {self.contract}", REMEDY)

    def _modules(self) -> list[str]:
        """The modules of the package that may hold components, found without importing them."""
        folder = source_file(self.package).parent
        return sorted(f"{self.package}.{file.stem}" for file in folder.glob("*.py") if not file.name.startswith("_"))

    def _registered(self, registration: Registration, module: str, file: str) -> Entry[FactsT]:
        """The entry of a component with a parsed decorator."""
        metadata = describe_registration(self.kind, self.facts_type, registration, file)
        name, attribute, aliases = registration.name, registration.attribute, registration.aliases
        return self._entry(name, module, attribute, lambda: metadata, aliases)

    def _entry(
        self,
        name: str,
        module: str,
        attribute: str,
        describe: Callable[[], Metadata[FactsT]],
        aliases: tuple[str, ...] = (),
    ) -> Entry[FactsT]:
        return Entry(self.kind, name, module, attribute, describe, aliases, self.supplied)

    def _entry_points(self) -> list[Entry[FactsT]]:
        """Components from the entry points of installed packages."""
        from importlib.metadata import entry_points  # slow to import

        group = f"normbench.{self.package.split('.')[1]}"
        return [
            self._entry(
                point.name,
                point.module,
                point.attr,
                partial(describe_by_name, self.kind, self.facts_type, f"{point.module}:{point.attr}"),
            )
            for point in entry_points(group=group)
        ]

    def _outside(self, name: str, trust: Trust) -> Entry[FactsT]:
        """The entry of ``package.module:attribute``, imported and checked to be a component of this kind."""
        trust.check_name(self.kind, name)
        component = import_component(self.kind, name)
        trust.check_component(self.kind, name, component)
        module, _, attribute = name.partition(":")
        entry = self._entry(name, module, attribute, partial(describe_object, self.kind, self.facts_type, component))
        self._check_contract(component, entry)
        return entry
