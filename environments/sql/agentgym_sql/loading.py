"""Loads a SQLite file into an empty database of a server.

SQLite types values, servers type columns, so a column's type is chosen from what it holds,
and from its declared type where that leaves a choice. Names become lower case, as PostgreSQL
reads them unquoted. Primary and foreign keys, unique constraints, indexes on columns, NOT NULL
and literal defaults are kept; views, triggers, checks and generated columns are not, nor
foreign keys to columns that are not unique, which no server takes.
"""

import datetime as dt
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects.mysql import LONGBLOB, LONGTEXT

from agentgym_sql.catalog import quoted, tables
from agentgym_sql.guarded import connect_read_only, read_only_uri
from agentgym_sql.results import DatabaseUnusableError, ForeignKey, Table

BATCH = 1000
_KEY_LENGTH = 255
_MAX_KEY_LENGTH = 700
_LITERAL = re.compile(r"-?\d+(?:\.\d+)?|'(?:[^'%\\:]|'')*'")
_ACTIONS = frozenset({"CASCADE", "SET NULL", "RESTRICT"})
_REALS = ("REAL", "FLOA", "DOUB", "NUM", "DEC", "MONEY")

Convert = Callable[[Any], Any]


class _Kind(NamedTuple):
    type: sa.types.TypeEngine[Any]
    convert: Convert | None = None


class _Loaded(NamedTuple):
    table: Table
    target: sa.Table
    converts: dict[str, Convert]


def load(engine: sa.Engine, path: Path) -> None:
    """Fill an empty database.

    Args:
        engine: Of the database, with rights to create in it.
        path: The SQLite file.

    Raises:
        DatabaseUnusableError: The file's content does not fit the server's types or keys.
    """
    with closing(connect_read_only(read_only_uri(path))) as source:
        source.text_factory = lambda text: text.decode("utf-8", "replace")
        found = [table for table in tables(source) if table.kind == "table"]
        metadata = sa.MetaData()
        mysql = engine.dialect.name in ("mysql", "mariadb")
        loaded = [_define(source, metadata, table, found, mysql=mysql) for table in found]
        if not _needs_64_bits(source, loaded):
            _narrow(metadata)
        try:
            # Names with a percent sign are escaped where the driver undoes it.
            compiled = engine.execution_options(no_parameters=False)
            with compiled.connect() as connection:
                _fill(connection, source, metadata, loaded, mysql=mysql)
        except sa.exc.DBAPIError as error:
            reason = str(error.orig).strip().split("\n", 1)[0]
            raise DatabaseUnusableError(
                f"{path.name} cannot be loaded into {engine.dialect.name}: {reason}",
                "Run this database on SQLite.",
            ) from error


def _fill(
    connection: sa.Connection,
    source: sqlite3.Connection,
    metadata: sa.MetaData,
    loaded: list[_Loaded],
    *,
    mysql: bool,
) -> None:
    connection.execution_options(isolation_level="READ COMMITTED")
    with connection.begin():
        if mysql:
            mode = "STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO"
            _run(connection, f"SET foreign_key_checks = 0, sql_mode = '{mode}'")
        metadata.create_all(connection)
        for one in loaded:
            for batch in _batches(source, one):
                connection.execute(one.target.insert(), batch)
        for one in loaded:
            _add_foreign_keys(connection, source, one.table, loaded, mysql=mysql)
            if not mysql:
                _advance_sequence(connection, one.target)
        if not mysql:
            _run(connection, "SET CONSTRAINTS ALL IMMEDIATE")


def _run(connection: sa.Connection, statement: str) -> None:
    connection.exec_driver_sql(statement, execution_options={"no_parameters": True})


def _define(
    source: sqlite3.Connection,
    metadata: sa.MetaData,
    table: Table,
    every: list[Table],
    *,
    mysql: bool,
) -> _Loaded:
    primary = [column.name for column in table.columns if column.primary_key]
    indexes = list(_indexes(source, table.name))
    keyed = {name for _, _, _, names in indexes for name in names} | set(primary)
    keyed |= {name for key in table.foreign_keys for name in key.columns}
    keyed |= {
        name
        for other in every
        for key in other.foreign_keys
        if key.table.lower() == table.name.lower()
        for name in key.references
    }
    keyed = {name.lower() for name in keyed}
    defaults = _defaults(source, table.name)
    target = sa.Table(table.name.lower(), metadata)
    converts = {}
    for column in table.columns:
        name = column.name.lower()
        kind = _kind(source, table.name, column.name, column.type.upper())
        type_ = _mysql_type(source, table.name, column.name, kind, name in keyed) if mysql else kind
        if kind.convert:
            converts[column.name] = kind.convert
        rowid = primary == [column.name] and column.type.upper() == "INTEGER"
        target.append_column(
            sa.Column(
                name,
                type_.type,
                primary_key=column.primary_key,
                nullable=column.nullable,
                autoincrement=rowid,
                server_default=_default(defaults[column.name], kind),
            )
        )
    for name, unique, origin, names in indexes:
        columns = [target.c[part.lower()] for part in names]
        if origin == "u":
            target.append_constraint(sa.UniqueConstraint(*columns))
        elif origin == "c":
            sa.Index(name.lower(), *columns, unique=unique)
    return _Loaded(table, target, converts)


def _kind(source: sqlite3.Connection, table: str, column: str, declared: str) -> _Kind:
    query = f"SELECT DISTINCT typeof({quoted(column)}) FROM {quoted(table)}"  # noqa: S608 - quoted
    held = {row[0] for row in source.execute(query)} - {"null"}
    if "blob" in held or (not held and "BLOB" in declared):
        return _Kind(sa.LargeBinary(), lambda v: v if isinstance(v, bytes) else str(v).encode())
    if "text" in held:
        return _text_kind(source, table, column, declared, held)
    if "real" in held or any(word in declared for word in _REALS):
        return _Kind(sa.Double(), float)
    if "integer" in held or "INT" in declared or "BOOL" in declared:
        return _Kind(sa.BigInteger())
    for word, kind in _DATES.items():
        if word in declared:
            return kind
    return _Kind(sa.Text())


def _needs_64_bits(source: sqlite3.Connection, loaded: list[_Loaded]) -> bool:
    for one in loaded:
        for column in one.table.columns:
            name = quoted(column.name)
            query = f"SELECT max(abs({name})) FROM {quoted(one.table.name)} "  # noqa: S608 - quoted
            largest = source.execute(f"{query} WHERE typeof({name}) = 'integer'").fetchone()[0]
            if largest is not None and largest >= 1 << 31:
                return True
    return False


def _narrow(metadata: sa.MetaData) -> None:
    """Make every BIGINT an INTEGER; all at once, since a key has the type of what it points to.

    It is what the SQLite schema says, and 64 bits would make other types of a query's results.
    """
    for table in metadata.tables.values():
        for column in table.columns:
            if isinstance(column.type, sa.BigInteger):
                column.type = sa.Integer()


_DATES = {
    "TIMESTAMP": _Kind(sa.DateTime(), dt.datetime.fromisoformat),
    "DATETIME": _Kind(sa.DateTime(), dt.datetime.fromisoformat),
    "DATE": _Kind(sa.Date(), dt.date.fromisoformat),
}
_DATE_TEXT = re.compile(r"\d{4}-\d\d-\d\d")
_TIME_TEXT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


def _text_kind(
    source: sqlite3.Connection, table: str, column: str, declared: str, held: set[str]
) -> _Kind:
    plain = _Kind(sa.Text(), str if held != {"text"} else None)
    if held != {"text"} or not any(word in declared for word in _DATES):
        return plain
    query = f"SELECT DISTINCT {quoted(column)} FROM {quoted(table)}"  # noqa: S608 - quoted
    values = [str(row[0]) for row in source.execute(query) if row[0] is not None]
    for shape, kind in ((_DATE_TEXT, _DATES["DATE"]), (_TIME_TEXT, _DATES["DATETIME"])):
        if all(shape.fullmatch(value) for value in values) and _parses(kind.convert, values):
            return kind
    return plain


def _parses(convert: Convert | None, values: list[str]) -> bool:
    try:
        for value in values:
            if convert:
                convert(value)
    except ValueError:
        return False
    return True


def _mysql_type(
    source: sqlite3.Connection, table: str, column: str, kind: _Kind, keyed: bool
) -> _Kind:
    if isinstance(kind.type, sa.LargeBinary):
        return _Kind(LONGBLOB())
    if not isinstance(kind.type, sa.Text):
        return kind
    if not keyed:
        return _Kind(LONGTEXT())
    query = f"SELECT max(length({quoted(column)})) FROM {quoted(table)}"  # noqa: S608 - quoted
    longest = source.execute(query).fetchone()[0] or 0
    return _Kind(sa.String(min(max(longest, _KEY_LENGTH), _MAX_KEY_LENGTH)))


def _indexes(source: sqlite3.Connection, table: str) -> Iterator[tuple[str, bool, str, list[str]]]:
    for _, name, unique, origin, partial in source.execute(
        f"PRAGMA index_list({quoted(table)})"
    ).fetchall():
        parts = source.execute(f"PRAGMA index_info({quoted(name)})").fetchall()
        names = [part[2] for part in parts]
        if not partial and all(names):
            yield name, bool(unique), origin, names


def _defaults(source: sqlite3.Connection, table: str) -> dict[str, str | None]:
    rows = source.execute(f"PRAGMA table_xinfo({quoted(table)})").fetchall()
    return {row[1]: row[4] for row in rows}


def _default(text: str | None, kind: _Kind) -> sa.TextClause | None:
    dated = isinstance(kind.type, sa.LargeBinary | sa.Date | sa.DateTime)
    return sa.text(text) if text and not dated and _LITERAL.fullmatch(text) else None


def _batches(source: sqlite3.Connection, one: _Loaded) -> Iterator[list[dict[str, Any]]]:
    names = [column.name for column in one.table.columns]
    selected = ", ".join(map(quoted, names))
    cursor = source.execute(f"SELECT {selected} FROM {quoted(one.table.name)} ORDER BY 1")  # noqa: S608 - quoted
    converts = [one.converts.get(name) for name in names]
    keys = [name.lower() for name in names]
    while rows := cursor.fetchmany(BATCH):
        yield [
            {
                key: convert(value) if convert and value is not None else value
                for key, convert, value in zip(keys, converts, row, strict=True)
            }
            for row in rows
        ]


def _add_foreign_keys(
    connection: sa.Connection,
    source: sqlite3.Connection,
    table: Table,
    loaded: list[_Loaded],
    *,
    mysql: bool,
) -> None:
    targets = {one.target.name: one.target for one in loaded}
    actions = _key_actions(source, table.name)
    quote = connection.dialect.identifier_preparer.quote
    for key in table.foreign_keys:
        child, parent = targets[table.name.lower()], targets.get(key.table.lower())
        if parent is None or not _fits(child, parent, key):
            continue
        own = ", ".join(quote(name.lower()) for name in key.columns)
        its = ", ".join(quote(name.lower()) for name in key.references)
        action = actions.get(tuple(key.columns), "")
        # Data that breaks its own keys is as common in benchmarks as it is in the world.
        unchecked = "" if mysql else " NOT VALID"
        _run(
            connection,
            f"ALTER TABLE {quote(child.name)} ADD FOREIGN KEY ({own}) "
            f"REFERENCES {quote(parent.name)} ({its}){action}{unchecked}",
        )


def _key_actions(source: sqlite3.Connection, table: str) -> dict[tuple[str, ...], str]:
    columns: dict[int, list[str]] = {}
    actions = {}
    for number, _, _, own, _, update, delete, _ in sorted(
        source.execute(f"PRAGMA foreign_key_list({quoted(table)})").fetchall()
    ):
        columns.setdefault(number, []).append(own)
        actions[number] = "".join(
            f" ON {event} {action}"
            for event, action in (("UPDATE", update), ("DELETE", delete))
            if action in _ACTIONS
        )
    return {tuple(names): actions[number] for number, names in columns.items()}


def _fits(child: sa.Table, parent: sa.Table, key: ForeignKey) -> bool:
    own, its = list(key.columns), [name.lower() for name in key.references]
    if len(own) != len(its) or any(name not in parent.c for name in its):
        return False
    pairs = zip(own, its, strict=True)
    if any(type(child.c[a.lower()].type) is not type(parent.c[b].type) for a, b in pairs):
        return False
    unique = [{column.name for column in parent.primary_key.columns}]
    unique += [
        {column.name for column in constraint.columns}
        for constraint in parent.constraints
        if isinstance(constraint, sa.UniqueConstraint)
    ]
    unique += [{column.name for column in i.columns} for i in parent.indexes if i.unique]
    return set(its) in unique


def _advance_sequence(connection: sa.Connection, table: sa.Table) -> None:
    column = table.autoincrement_column
    if column is not None:
        quote = connection.dialect.identifier_preparer.quote
        highest = connection.execute(sa.select(sa.func.max(column))).scalar()
        if highest is not None:
            name = quote(table.name).replace("'", "''")
            statement = (
                f"SELECT setval(pg_get_serial_sequence('{name}', '{column.name}'), {highest})"
            )
            _run(connection, statement)
