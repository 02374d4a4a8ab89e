"""The parameters of a component: name, type, default and bounds, read from its source or, if necessary, the object."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, Optional, Union, get_type_hints

from normbench_cli.registry.bounds import Bounds, bounds_of
from normbench_cli.registry.source import Definition, Unreadable, find_definition

REQUIRED: Any = inspect.Parameter.empty  # the default of a parameter without one
TORCH_MODULE = "torch.nn.modules.module"  # nn.Module declares **kwargs only to reject them
PLAIN_TYPES = {"int": int, "float": float, "bool": bool, "str": str}


class Parameter(NamedTuple):
    """A parameter that a spec may set."""

    type: Any
    default: Any
    bounds: Bounds = Bounds()


@dataclass(frozen=True)
class Signature:
    """The parameters of a component.

    parameters: those that a spec may set.  names: all, including those that the program supplies.
    """

    parameters: dict[str, Parameter]
    names: frozenset[str]
    takes_any: bool = False  # **kwargs


def read_signature(module: str, attribute: str, supplied: Collection[str]) -> Signature:
    """Read the signature from the source; `Unreadable` if it is unusual.  Types of supplied parameters are ignored."""
    found = constructor_of(find_definition(module, attribute))
    if found is None:
        return Signature({}, frozenset())
    where, arguments = found
    listed = list(with_defaults(arguments))
    parameters = {
        argument.arg: Parameter(
            str if argument.annotation is None else read_type(where, argument.annotation),
            REQUIRED if default is None else read_default(where, default),
            Bounds() if argument.annotation is None else read_bounds(where, argument.annotation),
        )
        for argument, default in listed
        if argument.arg not in supplied
    }
    names = frozenset(argument.arg for argument, _ in listed)
    return Signature(parameters, names, arguments.kwarg is not None and where != TORCH_MODULE)


def inspect_signature(component: Callable[..., Any], supplied: Collection[str]) -> Signature:
    """Read the signature from the component itself."""
    function = function_behind(component)
    hints, annotations = get_type_hints(function), get_type_hints(function, include_extras=True)
    listed = [*inspect.signature(component).parameters.values()]
    named = [p for p in listed if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    parameters = {
        p.name: Parameter(hints.get(p.name, str), p.default, bounds_of(annotations.get(p.name)))
        for p in named
        if p.name not in supplied
    }
    takes_any = any(p.kind is p.VAR_KEYWORD for p in listed) and getattr(function, "__module__", "") != TORCH_MODULE
    return Signature(parameters, frozenset(p.name for p in named), takes_any)


def function_behind(component: Callable[..., Any]) -> Callable[..., Any]:
    """The function that carries the component's annotations."""
    if isinstance(component, type):
        return component.__init__  # type: ignore[misc, no-any-return]
    if isinstance(component, partial):
        return function_behind(component.func)
    if not inspect.isroutine(component):
        return type(component).__call__
    return component


def constructor_of(found: Definition) -> tuple[str, ast.arguments] | None:
    """The arguments of a function or of a class's ``__init__``, perhaps inherited; None if there is none."""
    node = found.node
    if isinstance(node, ast.FunctionDef):
        need_plain_decorators(node)
        return found.module, node.args
    if isinstance(node, ast.Name | ast.Attribute):  # an alias
        return constructor_of(find_definition(found.module, ast.unparse(node)))
    if not isinstance(node, ast.ClassDef) or node.keywords:
        raise Unreadable(f"{found.module} defines it in an unusual way")
    need_plain_decorators(node)
    for member in reversed(node.body):
        names = names_bound_by(member)
        if names & {"__new__", "__signature__"} or ("__init__" in names and not isinstance(member, ast.FunctionDef)):
            raise Unreadable(f"{node.name} is made in an unusual way")
        if isinstance(member, ast.FunctionDef) and member.name == "__init__":
            if member.decorator_list:
                raise Unreadable(f"{node.name}.__init__ is decorated")
            return found.module, without_self(member.args)
    bases = [base for base in node.bases if ast.unparse(base) != "object" and not is_typing_base(base)]
    if not bases:
        return None
    if len(bases) > 1:
        raise Unreadable(f"{node.name} inherits from several classes")
    return constructor_of(find_definition(found.module, ast.unparse(bases[0])))


def is_registration(decorator: ast.expr) -> bool:
    """``NORMS.register(...)``"""
    return (
        isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Attribute)
        and decorator.func.attr == "register"
        and ast.unparse(decorator.func.value).rpartition(".")[2].isupper()
    )


def need_plain_decorators(node: ast.ClassDef | ast.FunctionDef) -> None:
    """Raise for decorators other than the registration, which may change the signature."""
    if not all(is_registration(decorator) for decorator in node.decorator_list):
        raise Unreadable(f"{node.name} is decorated")


def names_bound_by(member: ast.stmt) -> set[str]:
    """The names that a statement in a class body defines."""
    if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {member.name}
    return {node.id for node in ast.walk(member) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def is_typing_base(base: ast.expr) -> bool:
    name = ast.unparse(base.value if isinstance(base, ast.Subscript) else base)
    return name.rpartition(".")[2] in ("Generic", "Protocol")


def without_self(arguments: ast.arguments) -> ast.arguments:
    """The arguments of a method except the first.  (Defaults belong to the last arguments and stay as they are.)"""
    return ast.arguments(
        posonlyargs=arguments.posonlyargs[1:],
        args=arguments.args if arguments.posonlyargs else arguments.args[1:],
        vararg=arguments.vararg,
        kwonlyargs=arguments.kwonlyargs,
        kw_defaults=arguments.kw_defaults,
        kwarg=arguments.kwarg,
        defaults=arguments.defaults,
    )


def with_defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """Each argument that can be passed by keyword, with its default."""
    missing = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    defaults = [*[None] * missing, *arguments.defaults]
    yield from zip(arguments.args, defaults[len(arguments.posonlyargs) :], strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)


def read_default(module: str, node: ast.AST) -> Any:
    """Read a default: a literal, or the name of one."""
    if isinstance(node, ast.Name | ast.Attribute):
        return read_default(*find_definition(module, ast.unparse(node)))
    try:
        return ast.literal_eval(node)
    except ValueError as error:
        raise Unreadable(f"a default in {module} is not a literal") from error


def read_type(module: str, node: ast.AST) -> Any:
    """Read a type that a value in a spec can have: int, float, bool, str, None, Literal, and unions of them."""
    if isinstance(node, ast.Constant) and node.value is None:
        return type(None)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return read_type(module, ast.parse(node.value, mode="eval").body)
    if isinstance(node, ast.Name) and node.id in PLAIN_TYPES:
        return PLAIN_TYPES[node.id]
    if isinstance(node, ast.Name | ast.Attribute):
        return read_type(*find_definition(module, ast.unparse(node)))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return read_type(module, node.left) | read_type(module, node.right)
    if isinstance(node, ast.Subscript):
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        match ast.unparse(node.value).rpartition(".")[2]:
            case "Annotated":
                return read_type(module, inner[0])
            case "Literal":
                return Literal[tuple(read_default(module, choice) for choice in inner)]
            case "Optional":
                return Optional[read_type(module, node.slice)]  # noqa: UP045
            case "Union":
                return Union[tuple(read_type(module, choice) for choice in inner)]  # noqa: UP007
    raise Unreadable(f"{ast.unparse(node)} in {module} is not a type that a spec can set")


def read_bounds(module: str, node: ast.AST) -> Bounds:
    """Read the bounds from ``Annotated[float, Bounds(above=0)]`` or an alias of such a type."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return read_bounds(module, ast.parse(node.value, mode="eval").body)
    if isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) not in PLAIN_TYPES:
        return read_bounds(*find_definition(module, ast.unparse(node)))
    if isinstance(node, ast.Subscript) and ast.unparse(node.value).rpartition(".")[2] == "Annotated":
        for part in node.slice.elts[1:] if isinstance(node.slice, ast.Tuple) else ():
            if isinstance(part, ast.Call) and ast.unparse(part.func).rpartition(".")[2] == Bounds.__name__:
                return Bounds(**{word.arg: read_default(module, word.value) for word in part.keywords if word.arg})
    return Bounds()
