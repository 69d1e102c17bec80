"""What a SQLite database consists of, read through its pragmas: tables, keys, content hash."""

import sqlite3
from collections.abc import Collection, Iterable, Iterator

from agentgym_sql.fingerprint import digest, normal_sql, rows_digest
from agentgym_sql.results import Column, ForeignKey, Table

_OBJECTS = """
    SELECT type, name, sql FROM sqlite_master
    WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid
"""
_HIDDEN_VIRTUAL, _GENERATED = 1, (2, 3)


def quoted(name: str) -> str:
    """Return a name as a SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def tables(connection: sqlite3.Connection) -> list[Table]:
    """Return the tables and views in the order they were created."""
    return [
        Table(
            name,
            kind,
            _columns(connection, name),
            _foreign_keys(connection, name) if kind == "table" else (),
        )
        for kind, name, _ in connection.execute(_OBJECTS).fetchall()
        if kind in ("table", "view")
    ]


def _columns(connection: sqlite3.Connection, table: str) -> tuple[Column, ...]:
    try:
        rows = connection.execute(f"PRAGMA table_xinfo({quoted(table)})").fetchall()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        rows = []  # a view of something that is not there, which SQLite lets anyone make
    return tuple(
        Column(name, type_, not required and not key, bool(key))
        for _, name, type_, required, _, key, hidden in rows
        if hidden != _HIDDEN_VIRTUAL
    )


def _foreign_keys(connection: sqlite3.Connection, table: str) -> tuple[ForeignKey, ...]:
    rows = connection.execute(f"PRAGMA foreign_key_list({quoted(table)})").fetchall()
    keys: dict[int, list[tuple[str, str | None]]] = {}
    parents: dict[int, str] = {}
    for number, _, parent, source, target, *_ in sorted(rows):
        keys.setdefault(number, []).append((source, target))
        parents[number] = parent
    return tuple(
        ForeignKey(
            tuple(source for source, _ in pairs),
            parents[number],
            _targets(connection, parents[number], [target for _, target in pairs]),
        )
        for number, pairs in keys.items()
    )


def _targets(
    connection: sqlite3.Connection, parent: str, names: list[str | None]
) -> tuple[str, ...]:
    given = tuple(name for name in names if name is not None)
    if len(given) == len(names):
        return given
    # A key that names no columns points to the parent's primary key.
    rows = connection.execute(f"PRAGMA table_info({quoted(parent)})").fetchall()
    return tuple(row[1] for row in sorted(rows, key=lambda row: row[5]) if row[5])


def state_hash(connection: sqlite3.Connection, declared: Collection[str] | None = None) -> str:
    """Return the hash of schema and rows; spelling, storage and row order do not count.

    Args:
        connection: To the database.
        declared: Names of the tables and views of which the declaration counts, types and keys
            included; of others only the columns' names and the rows do, in any order. None
            means all.
    """
    names = None if declared is None else {name.lower() for name in declared}
    return digest(_parts(connection, names))


def _parts(connection: sqlite3.Connection, declared: Collection[str] | None) -> Iterator[object]:
    for kind, name, sql in connection.execute(_OBJECTS).fetchall():
        counts = declared is None or name.lower() in declared
        if kind in ("table", "view") and not counts:
            yield from _content_parts(connection, kind, name)
        elif kind == "table":
            yield from _table_parts(connection, name)
        elif kind in ("view", "trigger"):
            yield kind, normal_sql(sql)


def _content_parts(connection: sqlite3.Connection, kind: str, table: str) -> Iterator[object]:
    columns = connection.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
    names = sorted(column[1] for column in columns)
    yield kind, table.lower(), [name.lower() for name in names]
    yield "rows", table.lower(), _rows_digest(connection, table, names)


def _table_parts(connection: sqlite3.Connection, table: str) -> Iterator[object]:
    name = table.lower()
    columns = connection.execute(f"PRAGMA table_xinfo({quoted(table)})").fetchall()
    for number, column, type_, required, default, key, hidden in columns:
        yield "column", name, number, column.lower(), type_.upper(), required, default, key, hidden
    keys = connection.execute(f"PRAGMA foreign_key_list({quoted(table)})").fetchall()
    for _, number, *key in keys:
        yield "foreign key", name, number, *(str(part).lower() for part in key)
    for _, index, unique, origin, _ in connection.execute(
        f"PRAGMA index_list({quoted(table)})"
    ).fetchall():
        own = normal_sql(_sql_of(connection, index)) if origin == "c" else ""
        parts = connection.execute(f"PRAGMA index_xinfo({quoted(index)})").fetchall()
        yield "index", name, own, unique, [part[2:5] for part in parts if part[5]]
    stored = [column[1] for column in columns if column[6] not in _GENERATED]
    yield "rows", name, _rows_digest(connection, table, stored)


def _rows_digest(connection: sqlite3.Connection, table: str, columns: Iterable[str]) -> str:
    chosen = ", ".join(map(quoted, columns))
    return rows_digest(connection.execute(f"SELECT {chosen} FROM {quoted(table)}"))  # noqa: S608 - quoted


def _sql_of(connection: sqlite3.Connection, index: str) -> str:
    query = "SELECT sql FROM sqlite_master WHERE type = 'index' AND name = ?"
    return str(connection.execute(query, (index,)).fetchone()[0])
