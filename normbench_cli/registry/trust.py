"""Trust in specs by their origin: which packages a spec may import.

Importing runs code.  A spec written by the user may name any module.  One read from a database or a file may have been
written by anyone, so it imports only packages that the user allows by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from normbench_cli import paths
from normbench_cli.errors import NormbenchError, UsageError

HEADER = "# Packages that recorded runs may load (added by --allow), one a line.  Remove a line to withdraw it.\n"


class NotAllowed(NormbenchError):
    """A spec asks for a package that the user has not allowed."""


@dataclass(frozen=True)
class Trust:
    """packages: what may be imported for a spec; None for anything.  source: where the spec was read from."""

    packages: frozenset[str] | None
    source: str = "the configuration"

    def check_name(self, kind: str, name: str) -> None:
        """Raise if ``package.module:attribute`` may not be imported."""
        self._check(kind, name, name.partition(":")[0])

    def check_component(self, kind: str, name: str, component: object) -> None:
        """Raise if a name resolves to something defined in a package that is not allowed: ``mypackage:os.system``."""
        self._check(kind, name, getattr(component, "__module__", None) or name)

    def _check(self, kind: str, name: str, module: str) -> None:
        package = module.partition(".")[0]
        if self.packages is None or package in self.packages:
            return
        asked = f"{self.source} asks for the {kind} '{name}'"
        if not package.isidentifier():
            raise NotAllowed(asked, f"'{package}' is not a package")
        raise NotAllowed(
            f"{asked}, which runs code of the package {package}",
            f"if you trust that package: --allow {package} (in Python: allow='{package}')",
        )


USER = Trust(None)  # specs written by the user
NOBODY = Trust(frozenset())  # specs of unknown origin


def recorded_in(source: str, allow: str | Iterable[str] = ()) -> Trust:
    """The trust in a database or a file: packages that the user allows, now or earlier by ``--allow``."""
    return Trust(
        frozenset(allowed_packages()) | frozenset(checked([allow] if isinstance(allow, str) else allow)), source
    )


def allowed_packages() -> list[str]:
    """The packages that the user has permanently allowed."""
    try:
        lines = paths.allowed_file().read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise NormbenchError(f"{paths.allowed_file()} cannot be read: {error}", "fix or remove the file") from error
    return sorted({line.strip() for line in lines if line.strip() and not line.startswith("#")})


def allow_packages(packages: Iterable[str]) -> None:
    """Remember that recorded specs may import these packages."""
    new = [package for package in dict.fromkeys(checked(packages)) if package not in allowed_packages()]
    if not new:
        return
    file = paths.allowed_file()
    paths.ensure_writable(file.parent, "NORMBENCH_HOME")
    try:
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        first = HEADER if not before else "" if before.endswith("\n") else "\n"
        with file.open("a", encoding="utf-8") as lines:
            lines.write(first + "".join(f"{package}\n" for package in new))
    except OSError as error:
        raise NormbenchError(
            f"{file} cannot be written: {error.strerror}", "free space, or make it writable"
        ) from error


def checked(packages: Iterable[str]) -> list[str]:
    """Check names of packages; the module of a spec is not one."""
    found = list(packages)
    for package in found:
        if not package.isidentifier():
            first = package.partition(":")[0].partition(".")[0]
            do = f"write --allow {first}" if first.isidentifier() else "write --allow mypackage"
            raise UsageError(f"--allow '{package}' is not the name of a package", do)
    return found
