"""What a server's database consists of: tables, keys, content hash."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
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


def state_hash(
    connection: Connection,
    rows: Rows,
    declared: Collection[str] | None = None,
    unreadable: tuple[type[Exception], ...] = (),
) -> str:
    """Return the hash of schema and rows.

    Args:
        connection: To the database.
        rows: Queries the same database.
        declared: Names of the tables and views of which the declaration counts, types and keys
            included; of others only the columns' names and the rows do, in any order. None
            means all.
        unreadable: What `rows` raises where a value cannot be read; such rows are all alike.
    """
    return digest(_parts(connection, rows, declared, unreadable))


def _parts(
    connection: Connection,
    rows: Rows,
    declared: Collection[str] | None,
    unreadable: tuple[type[Exception], ...],
) -> Iterator[object]:
    inspector = inspect(connection)
    content = _reader(connection, rows, unreadable)

    def counts(name: str) -> bool:
        return declared is None or name in declared

    for part in _keys(inspector):
        if counts(part[1]):
            yield part
    views = set(inspector.get_view_names())
    database = connection.engine.url.database or ""
    for (_, name), columns in inspector.get_multi_columns(kind=ObjectKind.ANY).items():
        if not counts(name):
            names = sorted(column["name"] for column in columns)
            yield "view" if name in views else "table", name, names, content(name, names)
        elif name in views:
            text = inspector.get_view_definition(name) or ""
            text = _VIEW_HEAD.sub("", text.replace(f"`{database}`.", ""))
            yield "view", name, normal_sql(text)
        else:
            yield from _columns(connection, name, columns)
            stored = [column["name"] for column in columns if not column.get("computed")]
            yield "rows", name, content(name, stored)


def _reader(
    connection: Connection, rows: Rows, unreadable: tuple[type[Exception], ...]
) -> Callable[[str, Iterable[str]], str]:
    """Return what gives the digest of a table's rows, by its name and its columns' names."""
    mark = connection.dialect.identifier_preparer.initial_quote

    def quote(name: str) -> str:
        # Not the dialect's own, which doubles percent signs as for a statement with parameters.
        return mark + name.replace(mark, mark * 2) + mark

    def quote_column(name: str) -> str:
        # MySQL's columns come with their backticks doubled already.
        return quote(name.replace("``", "`") if mark == "`" else name)

    def content(name: str, columns: Iterable[str]) -> str:
        chosen = ", ".join(map(quote_column, columns)) or "NULL"
        try:
            return rows_digest(rows(f"SELECT {chosen} FROM {quote(name)}"))  # noqa: S608 - quoted
        except unreadable:
            return "unreadable"

    return content


def _columns(
    connection: Connection, table: str, columns: Iterable[ReflectedColumn]
) -> Iterator[object]:
    for number, column in enumerate(columns):
        default = "" if column.get("autoincrement") is True else column["default"]
        kind = _type(connection, column)
        yield "column", table, number, column["name"], kind, column["nullable"], default


def _keys(inspector: Inspector) -> Iterator[tuple[Any, ...]]:
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
