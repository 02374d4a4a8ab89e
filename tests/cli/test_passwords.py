"""The password in a database's URL is in nothing that is printed, logged, written to a file or recorded."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.nightly.job import present_job
from tests.postgres import PASSWORD, TEMPLATE, Server
from tests.support import TINY, RunCommand

COMMANDS = [
    ["db", "upgrade"],
    ["db", "path"],
    ["train", *TINY, "--seeds", "0-1"],
    ["train", *TINY, "--norm", "none", "--lr", "1e30"],
    ["train", "--resume", "00000000"],
    ["runs", "list"],
    ["runs", "list", "--json"],
    ["report", "--format", "md,html,latex,csv,json"],
    ["report", "--json"],
    ["db", "check"],
    ["db", "check", "--repair"],
    ["db", "backup", "--debug"],
    ["db", "export", "out", "--series"],
    ["db", "merge", "nothing.db"],
    ["doctor"],
    ["reproduce", "mine.toml", "--scale", "full", "--format", "md,html"],
]
MINE = """
metric = "test/accuracy"
seeds = "0"
[settings]
data = "digits:size=8"
model = "mlp"
iterations = 2
[rows]
clean = {}
[columns]
BN = { norm = "batchnorm" }
"""


@pytest.mark.slow
@pytest.mark.parametrize("by", ["option", "variable"])
def test_no_command_shows_or_records_the_password(
    by: str,
    postgres_server: Server,
    normbench: RunCommand,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    (tmp_path / "mine.toml").write_text(MINE)
    name = postgres_server.new_database(TEMPLATE)
    url, wrong = (postgres_server.loopback_url(name, word) for word in (PASSWORD, f"not-{PASSWORD}"))
    printed = ""
    option = ["--db", url] if by == "option" else []
    if by == "variable":
        monkeypatch.setenv("NORMBENCH_DB", url)
    for words in COMMANDS:
        ended = normbench(*words, *option)
        assert ended.code in (0, 1), ended.err
        printed += ended.out + ended.err
    (run_id,) = postgres_server.execute("SELECT id FROM runs LIMIT 1", name)[0]
    show = ["runs", "show", run_id, *option]
    for words in (show, [*show, "--json"], ["runs", "list", "--db", wrong, "--debug"]):
        ended = normbench(*words)
        printed += ended.out + ended.err
    assert f"127.0.0.1:{postgres_server.port}/{name}" in printed  # it is shown, but without the password
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and "compiled" not in path.parts}
    assert len(files) > 10
    rows = "".join(
        str(postgres_server.execute(f"SELECT CAST(t AS text) FROM {table} t", name))
        for (table,) in postgres_server.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", name)
    )
    assert run_id in rows
    found = [
        place for place, text in {"printed": printed, "logged": caplog.text, "rows": rows}.items() if PASSWORD in text
    ]
    assert found + [path for path, content in files.items() if PASSWORD.encode() in content] == []


def test_a_scheduler_gets_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMBENCH_DB", "postgresql://me:secret@host/name")
    with pytest.raises(UsageError, match=r"has a password.*~/\.pgpass") as error:
        present_job(["nightly"])
    assert "secret" not in str(error.value)
    monkeypatch.setenv("NORMBENCH_DB", "postgresql://me@host/name")
    assert present_job(["nightly"]).environment["NORMBENCH_DB"] == "postgresql://me@host/name"
