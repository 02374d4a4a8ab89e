"""Reading rows in which any value may be damaged.

`fetch` refuses a value that is invalid for its column.  `fetch_each` then continues row by row, so that only the
damaged rows are lost, and describes their damage.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, Table, func, literal_column, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.orm import Session
from sqlalchemy.schema import Column

from normbench_cli.store.errors import DamagedValue
from normbench_cli.store.file_errors import SQLITE_ERRORS
from normbench_cli.store.schema import Environment, Run
from normbench_cli.store.values import column_problem

AnySelect = Select[*tuple[Any, ...]]
AnyRow = Row[*tuple[Any, ...]]
ROWS_AT_ONCE = 1000
CHUNKS_AT_ONCE = 8  # rows with bytes may be large
RUNS: Table = Run.metadata.tables[Run.__tablename__]
ENVIRONMENTS: Table = Run.metadata.tables[Environment.__tablename__]
DAMAGE = ("malformed", "not a database", "decode to UTF-8", "too big", "corrupt")  # in SQLite's messages


def fetch(session: Session, query: AnySelect, at_once: int = ROWS_AT_ONCE) -> Iterator[AnyRow]:
    """The rows of a query.  Raises `DamagedValue` if a value is invalid for its column."""
    columns = list(query.selected_columns)
    try:
        for rows in session.execute(query, execution_options={"yield_per": at_once}).partitions():
            for column, values in zip(columns, zip(*rows, strict=True), strict=True):
                if isinstance(column, Column) and (problem := column_problem(column, values)):
                    raise DamagedValue(f"column {column.name} {problem}")
            yield from rows
    except DBAPIError as error:
        if damage := damage_in(error):
            raise DamagedValue(damage) from error
        raise


def damage_in(error: DBAPIError) -> str | None:
    """SQLite's message if it says that the file is damaged."""
    cause = str(error.orig)
    if "decode to UTF-8" in cause:
        return "is not UTF-8"
    if "too big" in cause:
        return "is larger than any value that normbench writes"
    return f"cannot be read: {cause}" if any(word in cause for word in DAMAGE) else None


def fetch_each(session: Session, query: AnySelect, table: Table) -> tuple[list[AnyRow], dict[str, str]]:
    """The undamaged rows of a query over a table, unordered if others are damaged; and the damage of the others, row
    name -> sentence."""
    try:
        return list(fetch(session, query)), {}
    except DamagedValue:
        if not has_row_numbers(session):
            raise
    rows: list[AnyRow] = []
    problems: dict[str, str] = {}
    for number in row_numbers(session, table):
        try:
            rows += fetch(session, query.where(row_number(table) == number))
        except DamagedValue:
            problems[row_name(session, table, number)] = "; ".join(row_problems(session, table, number))
    return rows, problems


def has_row_numbers(session: Session) -> bool:
    return session.get_bind().dialect.name == "sqlite"


def row_number(table: Table) -> ColumnElement[int]:
    """SQLite's rowid, whatever the primary key."""
    return literal_column(f"{table.name}.rowid")


def row_numbers(session: Session, table: Table) -> list[int]:
    """The rowids of all rows that can be found, reading the table or an index from both ends up to the damage."""
    raw: Any = session.connection().connection.dbapi_connection
    found: set[int] = set()
    errors: list[Exception] = []
    for source in ("", "NOT INDEXED"):
        for order in ("", "DESC"):
            try:
                for (number,) in raw.execute(f"SELECT rowid FROM {table.name} {source} ORDER BY rowid {order}"):
                    found.add(number)
            except SQLITE_ERRORS as error:
                errors.append(error)
    if errors and not found:
        raise DamagedValue(f"the table {table.name} cannot be read: {errors[0]}")
    return sorted(found)


def row_name(session: Session, table: Table, number: int) -> str:
    """The name of a row in messages: a run's id if it is readable; otherwise the row's number, with its run's id."""
    key = table.columns.get("run_id", table.columns["id"])
    where = f"row {number} of {table.name}"
    try:
        (run_id,) = (value for (value,) in fetch(session, select(key).where(row_number(table) == number)))
    except (DamagedValue, ValueError):
        return where
    if table is RUNS:
        return f"run {run_id}"
    return f"run {run_id}, {where}" if "run_id" in table.columns else where


def row_problems(session: Session, table: Table, number: int) -> list[str]:
    """The damage of a row, a sentence for each column."""
    return column_problems(session, table, row_number(table) == number) or ["cannot be read as a whole"]


def column_problems(session: Session, table: Table, where: ColumnElement[bool]) -> list[str]:
    problems = []
    for column in table.columns:
        try:
            list(fetch(session, select(column).where(where)))
        except DamagedValue as error:
            what = str(error)
            problems.append(what if what.startswith("column ") else f"column {column.name} {what}")
    return problems


def fetch_run(session: Session, run_id: str) -> Run:
    """Fetch a run with its environment; raises an error that names every damaged column."""
    problems = column_problems(session, RUNS, Run.id == run_id)
    if not problems:
        environment_id = session.scalar(select(Run.environment_id).where(Run.id == run_id))
        problems = column_problems(session, ENVIRONMENTS, Environment.id == environment_id)
        if not session.scalar(select(func.count()).where(Environment.id == environment_id)):
            problems = [f"column environment_id is {environment_id}, and there is no such environment"]
    if not problems:
        try:
            return session.scalars(select(Run).where(Run.id == run_id)).one()
        except SQLAlchemyError as error:  # damage in pages that the checks above did not read
            problems = [str(error).partition("\n")[0]]
    do = f"remove it with `normbench runs rm {run_id} --force`, or see `normbench db check`"
    raise DamagedValue(f"run {run_id}: {'; '.join(problems)}", do)
