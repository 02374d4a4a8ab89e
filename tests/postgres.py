"""A real PostgreSQL server for tests: in a folder of its own, on a unix socket and a free port of loopback.

Tests get databases that are copies of one at the newest schema.  Without the server's programs they are skipped.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

USER, PASSWORD = "normbench", "pass-of-the-tests"  # asked for on loopback only
TEMPLATE = "newest_schema"
FAST = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_connections=100")  # no test is a power cut
OWNER = "postgres"  # the server refuses to run as root


@dataclass
class Server:
    """A running server.  port: of its socket and of loopback."""

    folder: Path
    port: int
    numbers: Iterator[int] = field(default_factory=count)

    def url(self, name: str) -> str:
        """By the socket, which asks for no password."""
        return f"postgresql://{USER}@/{name}?host={self.folder}&port={self.port}"

    def loopback_url(self, name: str, password: str = PASSWORD) -> str:
        return f"postgresql://{USER}:{password}@127.0.0.1:{self.port}/{name}"

    def execute(self, statement: str, name: str = "postgres") -> list[Any]:
        import psycopg

        with psycopg.connect(
            host=str(self.folder), port=self.port, user=USER, dbname=name, autocommit=True
        ) as connection:
            done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []

    def new_database(self, template: str = "template1") -> str:
        """The name of a new database."""
        name = f"test_{next(self.numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def drop(self, name: str) -> None:
        self.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def program(name: str) -> str:
    """The path of one of the server's programs; Debian keeps them outside of PATH."""
    found = [shutil.which(name), *map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True))]
    path = next(filter(None, found), None)
    if path is None:
        pytest.skip("PostgreSQL is not installed here")
    return path


@contextmanager
def running_server() -> Iterator[Server]:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    initdb, postgres = program("initdb"), program("postgres")
    folder = Path(tempfile.mkdtemp(prefix="normbench-pg-"))
    who: dict[str, Any] = {"cwd": folder}
    if os.geteuid() == 0:
        try:
            shutil.chown(folder, OWNER, OWNER)
        except LookupError:
            pytest.skip(f"there is no user {OWNER} to run PostgreSQL as")
        who |= {"user": OWNER, "group": OWNER, "extra_groups": []}
    try:
        asked = folder / "password"
        asked.write_text(PASSWORD)
        asked.chmod(0o644)
        words = ["-D", "data", "-U", USER, "--pwfile=password", "--auth-host=scram-sha-256", "--auth-local=trust"]
        words += ["--encoding=UTF8", "--locale=C", "--no-sync"]
        subprocess.run([initdb, *words], check=True, capture_output=True, **who)
        server = Server(folder, free_port())
        settings = [f"unix_socket_directories={folder}", "listen_addresses=127.0.0.1", f"port={server.port}", *FAST]
        options = [word for setting in settings for word in ("-c", setting)]
        with (folder / "log").open("w") as log:
            process = subprocess.Popen([postgres, "-D", "data", *options], stdout=log, stderr=log, **who)
            try:
                wait_for(server, process)
                yield server
            finally:
                process.send_signal(signal.SIGQUIT)  # at once: nothing of it is needed any more
                process.wait()
    finally:
        shutil.rmtree(folder)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(server: Server, process: subprocess.Popen[bytes]) -> None:
    import psycopg

    for _ in range(600):
        try:
            server.execute("SELECT 1")
        except psycopg.OperationalError:
            assert process.poll() is None, (server.folder / "log").read_text()
            time.sleep(0.1)
        else:
            return
    pytest.fail((server.folder / "log").read_text())
