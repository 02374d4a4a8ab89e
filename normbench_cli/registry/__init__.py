"""Where components are found by name: norms, activations, models, data, objectives, attacks, corruptions, schedules.

A component is a class or function decorated with ``@NORMS.register("name", paper=..., fact=...)`` in a file of the
registry's package.  The files are read with ``ast``, never imported, until a component is built: so a listing or a
check of a name costs no torch, and a new file is found by itself.  That is why the decorator's arguments are literals.

A component can also come from outside: named as ``package.module:Class``, or by an entry point of the group
``normbench.<kinds>``.

Specs: ``name:key=value,key=value``; the values are checked against the component's own signature.  Norms may be
joined, ``weight+data``.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

from normbench_cli.errors import UsageError
from normbench_cli.registry.entry import Entry, read_entries
from normbench_cli.registry.spec import first_line, join_spec, read_value, split_joined, split_spec, suggest

Component = TypeVar("Component", bound=Callable[..., Any])


@dataclass(frozen=True)
class Spec:
    """A component's name with its parameters, in the one canonical form: typed, sorted, defaults left out."""

    entry: Entry
    params: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return join_spec(self.entry.name, dict(sorted(self.params.items())))


class Registry:
    """All components of one kind."""

    def __init__(
        self,
        kind: str,
        package: str,
        base: str,
        given: tuple[str, ...] = (),
        site_options: Mapping[str, Any] | None = None,
    ) -> None:
        """``base``: what an outside class must inherit from, as ``module:Class``.

        ``given``: arguments the program supplies, that a spec may not set.  ``site_options``: options of where a
        component stands rather than of the component (name -> type); a spec may set them, `build` leaves them out.
        """
        self.kind, self.package, self.base, self.given = kind, package, base, given
        self.site_options = dict(site_options or {})

    def register(
        self, name: str, *, aliases: tuple[str, ...] = (), paper: str = "", summary: str = "", **facts: Any
    ) -> Callable[[Component], Component]:
        """Decorate a component.  Inside the package the arguments are read from the source, so they are literals;
        for an outside class they are kept on the class."""

        def keep(component: Component) -> Component:
            entry = Entry(
                self.kind,
                name,
                component.__module__,
                component.__qualname__,
                summary or first_line(component.__doc__),
                paper,
                aliases,
                facts,
            )
            if not component.__module__.startswith("torch."):  # torch's own classes stay as they are
                component.normbench_entry = entry  # type: ignore[attr-defined]
            return component

        return keep

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """Name -> entry, from the package's files and from entry points, sorted by name."""
        found: dict[str, Entry] = {}
        for path, module in self._files():
            for entry in read_entries(path, module, self.kind):
                if entry.name in found:
                    raise UsageError(f"two {self.kind} components are named '{entry.name}'", "rename one")
                found[entry.name] = entry
        for entry in self._entry_points():
            found.setdefault(entry.name, entry)
        return dict(sorted(found.items()))

    def find(self, name: str) -> Entry:
        """The entry of a name, an alias, or ``package.module:Class``."""
        wanted, colon, attribute = name.strip().partition(":")
        if colon and wanted.lower() not in self.entries:
            return self._outside(name)
        if colon:
            raise UsageError(f"'{attribute}' in '{name}' is not key=value", f"write {wanted}:{attribute}=value")
        wanted = wanted.lower()
        for entry in self.entries.values():
            if wanted == entry.name or wanted in entry.aliases:
                return entry
        raise UsageError(f"unknown {self.kind} '{name}'", suggest(wanted, self.choices()))

    def choices(self) -> list[str]:
        return list(self.entries)

    def parse(self, text: str) -> Spec:
        """A spec as written -> its canonical form; loads the component only if parameters are given."""
        name, params = split_spec(text)
        entry = self.find(name)
        if not params:
            return Spec(entry)
        accepted = self.parameters(entry)
        typed: dict[str, Any] = {}
        for key, value in params.items():
            if key not in accepted:
                raise UsageError(f"{self.kind} '{entry.name}' has no parameter '{key}'", suggest(key, list(accepted)))
            kind, default = accepted[key]
            typed[key] = read_value(value, kind, f"{entry.name}:{key}")
            if typed[key] == default and type(typed[key]) is type(default):
                del typed[key]
        return Spec(entry, typed)

    def parse_all(self, text: str) -> list[Spec]:
        """The parts of a joined spec such as ``ws+gn``; usually one, and always where nothing is joined but norms."""
        return [self.parse(part) for part in (split_joined(text) if self.kind == "norm" else [text])]

    def canonical(self, text: str) -> str:
        return "+".join(str(spec) for spec in self.parse_all(text))

    def parameters(self, entry: Entry) -> dict[str, tuple[Any, Any]]:
        """What a spec may set: name -> (type, default)."""
        import inspect
        import typing

        component = entry.load()
        function = component.__init__ if isinstance(component, type) else component  # type: ignore[misc]
        hints = typing.get_type_hints(function)
        accepted = {
            p.name: (hints.get(p.name, str), p.default)
            for p in inspect.signature(component).parameters.values()
            if p.name not in self.given and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        }
        return accepted | {name: (kind, None) for name, kind in self.site_options.items()}

    def build(self, text: str, *args: Any, **kwargs: Any) -> Any:
        """Make the component: spec parameters and keyword arguments together, both checked."""
        spec = self.parse(text)
        takes = self.parameters(spec.entry)
        for key in kwargs:
            if key not in takes and key not in self.given:
                raise UsageError(f"{self.kind} '{spec.entry.name}' has no parameter '{key}'", suggest(key, list(takes)))
        merged = {key: v for key, v in {**spec.params, **kwargs}.items() if key not in self.site_options}
        try:
            return spec.entry.load()(*args, **merged)
        except ValueError as error:
            raise UsageError(f"{self.kind} '{text}': {error}") from error

    def _files(self) -> list[tuple[Path, str]]:
        """The source files of the package (or the one module), found without importing what they import."""
        here = Path(__file__).parents[1].joinpath(*self.package.split(".")[1:])
        if not here.is_dir():
            return [(here.with_suffix(".py"), self.package)]
        names = sorted(path for path in here.glob("*.py") if path.name != "__init__.py")
        return [(path, f"{self.package}.{path.stem}") for path in names]

    def _entry_points(self) -> list[Entry]:
        from importlib.metadata import entry_points

        group = f"normbench.{self.package.split('.')[1]}"
        return [
            Entry(self.kind, point.name, point.module, point.attr, f"from the package {point.module.split('.')[0]}")
            for point in entry_points(group=group)
        ]

    def _outside(self, name: str) -> Entry:
        """``package.module:Class``, imported (the working folder counts too) and checked to be what it must be."""
        module, _, attribute = name.partition(":")
        folder = str(Path.cwd())
        sys.path.insert(0, folder)
        try:
            component = Entry(self.kind, name, module, attribute).load()
        except (ImportError, AttributeError, ValueError) as error:
            raise UsageError(
                f"{self.kind} '{name}' cannot be imported: {error}", "give package.module:Class, or a name from `list`"
            ) from error
        finally:
            sys.path.remove(folder)
        base_module, _, base_name = self.base.partition(":")
        base = getattr(importlib.import_module(base_module), base_name)
        if not (isinstance(component, type) and issubclass(component, base)):
            raise UsageError(
                f"{self.kind} '{name}' is not a class made from {self.base.replace(':', '.')}",
                "give package.module:Class, or a name from `list`",
            )
        own: Entry | None = vars(component).get("normbench_entry")
        facts = own.facts if own else {}
        return Entry(
            self.kind, name, module, attribute, first_line(component.__doc__), own.paper if own else "", (), facts
        )


MODULE = "torch.nn:Module"
NORMS = Registry(
    "norm",
    "normbench_cli.norms",
    MODULE,
    given=("num_features", "op"),
    site_options={"placement": Literal["after", "before"], "first": bool, "classifier": bool},
)
ACTIVATIONS = Registry("activation", "normbench_cli.activations", MODULE, given=("inplace",))
MODELS = Registry("model", "normbench_cli.models", MODULE, given=("norm", "act", "num_classes", "in_channels"))
DATASETS = Registry(
    "data set", "normbench_cli.datasets", "normbench_cli.datasets._images.memory:Dataset", given=("root",)
)
OBJECTIVES = Registry("objective", "normbench_cli.objectives", MODULE)
ATTACKS = Registry("attack", "normbench_cli.attacks", MODULE, given=("mean", "std"))
CORRUPTIONS = Registry("corruption", "normbench_cli.corruptions", "normbench_cli.corruptions.base:Corruption")
SCHEDULES = Registry("schedule", "normbench_cli.engine.schedules", "builtins:object", given=("progress",))
