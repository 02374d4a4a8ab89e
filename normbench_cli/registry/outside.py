"""External components: imported by name, also from the working folder, and described by what they declare."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from normbench_cli.errors import UsageError, first_sentence
from normbench_cli.registry.bounds import from_literals
from normbench_cli.registry.entry import Metadata, Registration, registrations
from normbench_cli.registry.facts import FactsT, make_facts
from normbench_cli.registry.source import Unreadable, find_definition, parse_module, source_file
from normbench_cli.registry.spec import first_line

REMEDY = "give package.module:Class, or a name from `list`"


def import_component(kind: str, name: str) -> object:
    """Import ``package.module:attribute``."""
    module, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
        raise UsageError(f"{kind} '{name}' is not package.module:Class", REMEDY)
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        component: object = import_module(module)
        for part in attribute.split("."):
            component = getattr(component, part)
    except (Exception, SystemExit) as error:  # importing a module may raise anything
        raise UsageError(f"{kind} '{name}' cannot be imported: {first_sentence(error)}", REMEDY) from error
    finally:
        if folder in sys.path:
            sys.path.remove(folder)
    return component


@contextmanager
def refusals_in_one_line(kind: str, text: str, module: str) -> Iterator[None]:
    """Report a ValueError from building a component in one line; for an external component also other errors, because
    it may be anything, such as a class with more required arguments."""
    try:
        yield
    except ValueError as error:
        raise UsageError(f"{kind} '{text}': {error}") from error
    except (TypeError, AssertionError, AttributeError, ArithmeticError, LookupError) as error:
        if module.startswith("normbench_cli."):
            raise
        raise UsageError(f"{kind} '{text}' cannot be made: {first_sentence(error)}", REMEDY) from error


def describe_by_name(kind: str, facts_type: type[FactsT], name: str) -> Metadata[FactsT]:
    """The metadata of ``package.module:attribute``, read from its source; imported only if the source is unusual."""
    module, _, attribute = name.partition(":")
    try:
        where, node = find_definition(module, attribute)
        defined_as = getattr(node, "name", attribute)
        for registration in registrations(parse_module(where)):
            if registration.attribute == defined_as:
                return describe_registration(kind, facts_type, registration, str(source_file(where)))
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.decorator_list:
            return Metadata(first_line(ast.get_docstring(node)), "", facts_type())
    except Unreadable:
        pass
    return describe_object(kind, facts_type, import_component(kind, name))


def describe_registration(
    kind: str, facts_type: type[FactsT], registration: Registration, file: str
) -> Metadata[FactsT]:
    """The checked metadata from a decorator in a file."""
    facts = make_facts(kind, facts_type, registration.facts, file)
    return Metadata(registration.summary, registration.paper, facts, from_literals(registration.bounds))


def describe_object(kind: str, facts_type: type[FactsT], component: object) -> Metadata[FactsT]:
    """The metadata of an imported component; without a decorator, its docstring and the default facts."""
    own = getattr(component, "__dict__", {}).get("normbench_entry")  # its own, not inherited
    if own is not None and own.kind == kind:
        metadata: Metadata[FactsT] = own.metadata
        return metadata
    return Metadata(first_line(inspect.getdoc(component)), "", facts_type())
