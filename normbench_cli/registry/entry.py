"""One component: where it is defined, and what is known about it before it is imported."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, NamedTuple

from normbench_cli.errors import UsageError
from normbench_cli.registry.bounds import Bounds
from normbench_cli.registry.facts import FactsT
from normbench_cli.registry.parameters import Parameter, Signature, inspect_signature, is_registration, read_signature
from normbench_cli.registry.source import Unreadable
from normbench_cli.registry.spec import first_line


@dataclass(frozen=True)
class Metadata(Generic[FactsT]):
    """What a component declares.  bounds: of parameters whose annotations have none, as in torch's classes."""

    summary: str
    paper: str
    facts: FactsT
    bounds: Mapping[str, Bounds] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry(Generic[FactsT]):
    """A named component.  Only `load` imports it; everything else is read from its source where possible.

    supplied: parameters that the program sets and a spec may not.  describe: makes the metadata when needed.
    """

    kind: str
    name: str
    module: str
    attribute: str
    describe: Callable[[], Metadata[FactsT]] = field(compare=False, repr=False)
    aliases: tuple[str, ...] = ()
    supplied: tuple[str, ...] = ()

    def load(self) -> Callable[..., Any]:
        """Import the class or function."""
        try:
            target: Any = importlib.import_module(self.module)
            for part in self.attribute.split("."):
                target = getattr(target, part)
        except (ImportError, AttributeError) as error:
            if self.module.startswith("normbench_cli."):
                raise
            raise UsageError(
                f"{self.kind} '{self.name}' cannot be imported from {self.module}: {error}",
                "fix or remove the package that it belongs to",
            ) from error
        return target  # type: ignore[no-any-return]

    @cached_property
    def metadata(self) -> Metadata[FactsT]:
        return self.describe()

    @property
    def summary(self) -> str:
        """One line; the error if the component cannot be read, so that the others can still be listed."""
        try:
            return self.metadata.summary
        except UsageError as error:
            return str(error)

    @property
    def paper(self) -> str:
        try:
            return self.metadata.paper
        except UsageError:
            return ""

    @property
    def facts(self) -> FactsT:
        return self.metadata.facts

    @cached_property
    def signature(self) -> Signature:
        try:
            return read_signature(self.module, self.attribute, self.supplied)
        except Unreadable:
            return inspect_signature(self.load(), self.supplied)

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters that a spec may set, by name."""
        own, declared = self.signature.parameters, self.metadata.bounds
        return {name: own[name]._replace(bounds=declared.get(name, own[name].bounds)) for name in own}

    @property
    def defaults(self) -> dict[str, Any]:
        """The default of each parameter; `REQUIRED` for one without."""
        return {name: parameter.default for name, parameter in self.signature.parameters.items()}


class Registration(NamedTuple):
    """The arguments of a decorator, and what it decorates."""

    name: str
    attribute: str
    aliases: tuple[str, ...]
    summary: str
    paper: str
    facts: dict[str, Any]
    bounds: Mapping[str, Mapping[str, Any]] = {}


def registrations(tree: ast.Module) -> Iterator[Registration]:
    """The registrations in a file: decorated classes and functions, and ``NORMS.register(...)(component)``."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            decorated, attribute, docstring = node.decorator_list, node.name, ast.get_docstring(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node.value.args:
            decorated, attribute, docstring = [node.value.func], ast.unparse(node.value.args[0]), None
        else:
            continue
        for decorator in decorated:
            if isinstance(decorator, ast.Call) and is_registration(decorator):
                yield read_registration(decorator, attribute, docstring)


def read_registration(call: ast.Call, attribute: str, docstring: str | None) -> Registration:
    try:
        name = ast.literal_eval(call.args[0])
        words = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}
    except (ValueError, IndexError) as error:
        raise Unreadable(f"line {call.lineno}: the arguments of register are not a name and literals") from error
    return Registration(
        name=name,
        attribute=attribute,
        aliases=words.pop("aliases", ()),
        summary=words.pop("summary", "") or first_line(docstring),
        paper=words.pop("paper", ""),
        bounds=words.pop("bounds", {}),
        facts=words,
    )
