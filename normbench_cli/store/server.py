"""Engines for a PostgreSQL server: how a process connects, and the setup of writing transactions.

A connection lasts one transaction, as with a file: none is open when a process forks data loaders or is killed, and
many machines need few connections.  The driver is psycopg 3, the extra ``postgres``; only SQLAlchemy imports it.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, event
from sqlalchemy.exc import NoSuchModuleError
from sqlalchemy.orm import Session

from normbench_cli.errors import DatabaseError
from normbench_cli.store.location import DRIVER, Location
from normbench_cli.store.values import read_json

CONNECT_SECONDS = 10  # timeout for a connection
WRITERS = 0x6E6F726D  # advisory lock that all writing transactions share, and some take exclusively
IDLE_SECONDS = 60  # after which the locks of a machine that disappeared in a transaction are released
BUSY = ("too many clients", "too many connections", "connection slots are reserved", "is starting up")
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0  # seconds; a refused attempt costs the server a process
OPTIONS: dict[str, Any] = {
    "application_name": "normbench",
    "prepare_threshold": None,  # connection poolers may not support prepared statements
    # a missing answer is an error after half a minute
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}


def is_server(session: Session) -> bool:
    """Whether this is PostgreSQL, with concurrent writers and the server's clock."""
    return session.get_bind().dialect.name == "postgresql"


def server_engine(location: Location) -> Engine:
    assert location.url is not None
    postgresql = location.url.drivername == DRIVER
    try:
        engine = create_engine(location.url, poolclass=NullPool, **(postgresql_options(location) if postgresql else {}))
    except NoSuchModuleError as error:
        do = "see SQLAlchemy's list of dialects"
        raise DatabaseError(f"{location.shown}: there is no such kind of database", do) from error
    except ImportError as error:
        package, do = error.name, f"pip install {error.name}"
        if postgresql:
            package, do = "psycopg", 'pip install "normbench[postgres]"'
        raise DatabaseError(f"{location.shown} needs the package {package}", do) from error
    if postgresql:
        event.listen(engine, "do_connect", connect_within(location.timeout))
        event.listen(engine, "begin", begin_writing(location.timeout))
    return engine


def postgresql_options(location: Location) -> dict[str, Any]:
    """Engine options for SQLAlchemy and psycopg; options in the URL take precedence."""
    assert location.url is not None
    seconds = max(2, min(CONNECT_SECONDS, math.ceil(location.timeout)))  # libpq's minimum is two
    options = OPTIONS | {"connect_timeout": seconds}
    return {
        "connect_args": {name: value for name, value in options.items() if name not in location.url.query},
        "isolation_level": "REPEATABLE READ",  # a reader sees a snapshot
        "use_native_hstore": False,  # detecting it takes a round trip
        "json_serializer": write_json,
        "json_deserializer": read_json_bytes,
    }


def connect_within(seconds: float) -> Callable[..., Any]:
    """Connect; if the server has too many clients or is just starting, retry for some seconds.

    The pauses grow and are random, so that hundreds of clients that start together do not retry together.
    """

    def connect(dialect: Any, _record: object, words: Any, options: Any) -> Any:
        end, pause = time.monotonic() + seconds, FIRST_PAUSE
        while True:
            try:
                return dialect.connect(*words, **options)
            except dialect.loaded_dbapi.OperationalError as error:
                left = end - time.monotonic()
                if left <= 0 or not any(reason in str(error) for reason in BUSY):
                    raise
            time.sleep(min(left, random.uniform(pause / 2, pause)))
            pause = min(2 * pause, LONGEST_PAUSE)

    return connect


def begin_writing(seconds: float) -> Callable[[Connection], None]:
    """Let a writing transaction see what others have committed while it waited for a row, limit its wait for any lock,
    and exclude other writers if it is to be alone."""

    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes")
        if writes:
            idle = 0 if writes == "alone" else IDLE_SECONDS  # 0: no limit
            connection.exec_driver_sql(
                "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; "
                f"SET LOCAL lock_timeout = '{round(1000 * seconds)}ms'; "
                f"SET LOCAL idle_in_transaction_session_timeout = '{idle}s'; "
                f"SELECT pg_advisory_xact_lock{'' if writes == 'alone' else '_shared'}({WRITERS})"
            ).close()

    return begin


def write_json(value: Any) -> str:
    """Convert to JSON with null for nan and inf, which JSON lacks and PostgreSQL rejects."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(finite(value))


def finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_json_bytes(content: bytes | str) -> Any:
    return read_json(content.decode() if isinstance(content, bytes) else content)
