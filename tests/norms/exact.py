"""Specs that ask the solver for its last digits."""

from __future__ import annotations

from normbench_cli.registry import NORMS


def exact(spec: str) -> str:
    """The spec with tol=exact, where the norm has a tolerance."""
    if "tol" not in NORMS.entries[spec.partition(":")[0]].parameters:
        return spec
    return f"{spec}{',' if ':' in spec else ':'}tol=exact"
