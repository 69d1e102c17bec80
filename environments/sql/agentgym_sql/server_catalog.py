"""What a server's database consists of: tables, keys, content hash."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Inspector, exc, inspect
from sqlalchemy.engine.interfaces import ReflectedColumn
from sqlalchemy.engine.reflection import ObjectKind

from agentgym_sql.fingerprint import digest, normal_sql, rows_digest
from agentgym_sql.results import Column, ForeignKey, Table, Value

# MySQL tells who made a view, which is another role in each session.
_VIEW_HEAD = re.compile(r"^CREATE .*? VIEW .*? AS ", re.IGNORECASE | re.DOTALL)

Rows = Callable[[str], Iterable[Sequence[Value]]]
"""Runs a query and gives its rows one by one."""


def tables(connection: Connection) -> list[Table]:
    """Return the tables and views by name, tables first."""
    inspector = inspect(connection)
    views = set(inspector.get_view_names())
    columns = inspector.get_multi_columns(kind=ObjectKind.ANY)
    keys = inspector.get_multi_pk_constraint()
    foreign = inspector.get_multi_foreign_keys()
    found = []
    for place in sorted(columns, key=lambda place: (place[1] in views, place[1])):
        primary = set(keys[place]["constrained_columns"]) if place in keys else set()
        found.append(
            Table(
                place[1],
                "view" if place[1] in views else "table",
                tuple(_column(connection, column, primary) for column in columns[place]),
                tuple(
                    ForeignKey(
                        tuple(key["constrained_columns"]),
                        key["referred_table"],
                        tuple(key["referred_columns"]),
                    )
                    for key in foreign.get(place, ())
                ),
            )
        )
    return found


def _column(connection: Connection, column: ReflectedColumn, primary: set[str]) -> Column:
    name = column["name"]
    return Column(name, _type(connection, column), column["nullable"], name in primary)


def _type(connection: Connection, column: ReflectedColumn) -> str:
    # Every text column has the database's own collation, which is noise to a reader.
    type_ = column["type"]
    for noise in ("collation", "charset"):
        if getattr(type_, noise, None):
            setattr(type_, noise, None)
    try:
        return type_.compile(connection.dialect)
    except exc.CompileError:
        return ""


def state_hash(connection: Connection, rows: Rows) -> str:
    """Return the hash of schema and rows.

    Args:
        connection: To the database.
        rows: Queries the same database.
    """
    return digest(_parts(connection, rows))


def _parts(connection: Connection, rows: Rows) -> Iterator[object]:
    inspector = inspect(connection)
    database = connection.engine.url.database or ""
    yield from _keys(inspector)
    for view in inspector.get_view_names():
        text = inspector.get_view_definition(view) or ""
        text = _VIEW_HEAD.sub("", text.replace(f"`{database}`.", ""))
        yield "view", view, normal_sql(text)
    quote = connection.dialect.identifier_preparer.quote_identifier
    for (_, table), columns in inspector.get_multi_columns(kind=ObjectKind.TABLE).items():
        for number, column in enumerate(columns):
            default = "" if column.get("autoincrement") is True else column["default"]
            kind = _type(connection, column)
            yield "column", table, number, column["name"], kind, column["nullable"], default
        stored = [quote(column["name"]) for column in columns if not column.get("computed")]
        query = f"SELECT {', '.join(stored)} FROM {quote(table)}"  # noqa: S608 - quoted
        yield "rows", table, rows_digest(rows(query))


def _keys(inspector: Inspector) -> Iterator[object]:
    for (_, table), key in inspector.get_multi_pk_constraint().items():
        yield "primary key", table, key["constrained_columns"]
    for (_, table), keys in inspector.get_multi_foreign_keys().items():
        for foreign in keys:
            yield (
                "foreign key",
                table,
                foreign["constrained_columns"],
                foreign["referred_table"],
                foreign["referred_columns"],
                sorted(foreign.get("options", {}).items()),
            )
    for (_, table), indexes in inspector.get_multi_indexes().items():
        for index in indexes:
            parts: list[Any] = [*index["column_names"], *index.get("expressions", ())]
            yield "index", table, index["name"], index["unique"], parts
