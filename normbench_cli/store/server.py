"""Engines for a PostgreSQL server: how a process connects to it, and what a transaction that writes does first.

A connection lasts one transaction, as with a file: none is in use when a process forks data loaders or is killed, and
many machines need few connections.  The driver is psycopg 3, the extra ``postgres``; SQLAlchemy alone imports it.
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

CONNECT_SECONDS = 10  # that the server may take to answer
WRITERS = 0x6E6F726D  # the advisory lock that every transaction shares that writes; some want it for themselves
IDLE_SECONDS = 60  # a machine that is gone in the middle of a transaction holds its locks no longer
BUSY = ("too many clients", "too many connections", "connection slots are reserved", "is starting up")
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0  # seconds; a refused attempt costs the server a process
OPTIONS: dict[str, Any] = {
    "application_name": "normbench",
    "prepare_threshold": None,  # programs that share connections among clients know no prepared statements
    # an answer that does not come is an error after half a minute
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}


def is_server(session: Session) -> bool:
    """Whether this is PostgreSQL, where others write at the same time and the clock is the server's."""
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
    """What SQLAlchemy and psycopg are told; what the URL says counts more."""
    assert location.url is not None
    seconds = max(2, min(CONNECT_SECONDS, math.ceil(location.timeout)))  # libpq takes no fewer than two
    options = OPTIONS | {"connect_timeout": seconds}
    return {
        "connect_args": {name: value for name, value in options.items() if name not in location.url.query},
        "isolation_level": "REPEATABLE READ",  # a reader sees one state
        "use_native_hstore": False,  # to ask for it takes a round trip
        "json_serializer": write_json,
        "json_deserializer": read_json_bytes,
    }


def connect_within(seconds: float) -> Callable[..., Any]:
    """Connect; where the server has as many clients as it takes, or is just starting, try again for some seconds.

    The pauses grow and are random, so that hundreds of clients that begin together do not come back together.
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
    """Let a transaction that writes see what others have committed while it waited for a row, wait no longer than this
    for any lock, and exclude others if it wants to be alone."""

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
    """PostgreSQL checks JSON, which has no nan: it becomes null."""
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
