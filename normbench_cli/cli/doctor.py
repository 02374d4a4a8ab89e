"""normbench doctor: what works on this machine, and how to fix what does not."""

from __future__ import annotations

from normbench_cli.cli._options import Common, common_options
from normbench_cli.cli._output import print_json, print_table
from normbench_cli.errors import EXIT_ERROR, EXIT_OK


@common_options
def doctor(common: Common) -> int:
    """Check device, versions, compiler, database and data, and suggest fixes.

    Examples:
      normbench doctor
      normbench doctor --json
    """
    from normbench_cli.experiments.doctor import examine

    findings = examine(common.db)
    if common.json:
        print_json({name: {"ok": ok, "what": found, "do": remedy} for name, (ok, found, remedy) in findings.items()})
    else:
        print_table(
            [
                {"check": name, "": "ok" if ok else "NOT OK", "found": found, "what to do": remedy}
                for name, (ok, found, remedy) in findings.items()
            ]
        )
    return EXIT_OK if all(finding.ok for finding in findings.values()) else EXIT_ERROR
