"""What is known of a component without importing it, read from the source of its file."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from normbench_cli.registry.spec import first_line


@dataclass(frozen=True)
class Entry:
    """One component: where it is, and its facts."""

    kind: str
    name: str
    module: str
    attribute: str
    summary: str = ""
    paper: str = ""
    aliases: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Callable[..., Any]:
        target: Any = importlib.import_module(self.module)
        for part in self.attribute.split("."):
            target = getattr(target, part)
        return target


def read_entries(path: Path, module: str, kind: str) -> list[Entry]:
    """The registrations in a source file: decorated classes and functions, and ``X.register(...)(component)``."""
    found = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            calls = [(call, node.name, ast.get_docstring(node)) for call in node.decorator_list]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and node.value.args:
            calls = [(node.value.func, ast.unparse(node.value.args[0]), None)]
        else:
            continue
        for call, attribute, docstring in calls:
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                continue
            if call.func.attr != "register" or not ast.unparse(call.func.value).isupper():
                continue
            facts = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}
            summary = facts.pop("summary", "") or first_line(docstring)
            paper, aliases = facts.pop("paper", ""), facts.pop("aliases", ())
            name = ast.literal_eval(call.args[0])
            found.append(Entry(kind, name, module, attribute, summary, paper, aliases, facts))
    return found
