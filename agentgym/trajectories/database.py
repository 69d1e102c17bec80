"""Opening the store's database: where it lies, its pragmas, its schema, its errors."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs
import sqlalchemy as sa
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    NoSuchModuleError,
    OperationalError,
    SQLAlchemyError,
)
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_random

from agentgym.errors import MissingExtraError, StoreError
from agentgym.trajectories import tables

LOCATION_VARIABLE = "AGENTGYM_STORE"
"""Environment variable that names the default store, by path or URL."""

_BUSY_S = 30
_CONNECT_S = 10
_PAGE_BYTES = 8192  # holds several episodes; at SQLite's 4096 a third of a page stays empty

_ELSEWHERE = f"Name another store with --store or {LOCATION_VARIABLE}."
_URL_FORMS = "A store is a file's path or postgresql://USER@HOST/DATABASE."
_SCHEMA_LOCK = 0x61676D  # any number that all processes agree on
_REMEDIES = (
    ("not a database", f"The file is something else. {_ELSEWHERE}"),
    ("locked", "Another process has held the store for long; try again when it has finished."),
    ("full", "Free disk space and resume the run."),
    ("No space", "Free disk space and resume the run."),
    ("malformed", "Restore it from a backup, or rescue what is left with `sqlite3 FILE .recover`."),
    ("readonly", f"Make the file and its folder writable. {_ELSEWHERE}"),
    ("Permission denied", f"Make the file and its folder writable. {_ELSEWHERE}"),
    ("unable to open", f"Make the file and its folder writable. {_ELSEWHERE}"),
    ("authentication", "Check the user and password in the URL."),
    ("does not exist", "Check the names in the URL; create the database with `createdb`."),
    ("connection", "Check that the server runs and that the URL is right."),
)


def default_location() -> str:
    """Return the store used where none is named.

    `AGENTGYM_STORE` if set, else `runs.db` in the user's data folder.
    """
    named = os.environ.get(LOCATION_VARIABLE)
    return named or str(platformdirs.user_data_path("agentgym") / "runs.db")


def open_engine(location: str | Path | None, *, create: bool) -> sa.Engine:
    """Connect to a store, and make it where there is none.

    Args:
        location: A file's path, `sqlite:///PATH` or `postgresql://...`; None takes the default.
        create: Whether a missing file is made; otherwise it is an error.

    Raises:
        StoreError: It cannot be opened, or is not a store this version reads.
        MissingExtraError: PostgreSQL without its driver.
    """
    if location == "":
        raise StoreError("The store's name is empty.", remedy="Give a file's path or a URL.")
    url = _parse(location or default_location())
    name = _name(url)
    with store_errors(f"The store {name} cannot be opened"):
        engine = _sqlite(url, create=create) if _is_sqlite(url) else _postgresql(url)
        try:
            prepare = _prepare_sqlite if _is_sqlite(url) else _prepare_postgresql
            prepare(engine, name, create=create)
        except BaseException:
            engine.dispose()
            raise
    return engine


@contextmanager
def store_errors(what: str) -> Iterator[None]:
    """Turn the database's errors inside the block into a `StoreError`.

    Args:
        what: The failure as a clause, such as "The store x cannot be opened".
    """
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError, OverflowError, UnicodeError) as error:
        cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
        reason = " ".join(str(cause).split())[:300]
        known = (remedy for sign, remedy in _REMEDIES if sign.lower() in reason.lower())
        raise StoreError(f"{what}: {reason}.", remedy=next(known, _ELSEWHERE)) from error


def _parse(location: str | Path) -> sa.URL:
    text = str(location)
    if "://" not in text:
        return sa.URL.create("sqlite", database=str(Path(text).expanduser()))
    try:
        url = sa.make_url(text)
        backend = {"postgres": "postgresql"}.get(url.drivername, url.get_backend_name())
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise StoreError("The store's URL cannot be read.", remedy=_URL_FORMS) from error
    if backend == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite" or url.database in {None, "", ":memory:"}:
        raise StoreError(f"{_name(url)!r} cannot hold a store.", remedy=_URL_FORMS)
    return url


def _is_sqlite(url: sa.URL) -> bool:
    return url.drivername.startswith("sqlite")


def _name(url: sa.URL) -> str:
    """Return the place as messages name it, without a password."""
    return str(url.database) if _is_sqlite(url) else url.render_as_string(hide_password=True)


def _sqlite(url: sa.URL, *, create: bool) -> sa.Engine:
    path = Path(str(url.database))
    if create:
        path.parent.mkdir(parents=True, exist_ok=True)
    elif not path.exists():
        raise _missing(str(path))
    engine = sa.create_engine(url, connect_args={"timeout": _BUSY_S})

    @sa.event.listens_for(engine, "connect")
    def _relax_sync(connection: sqlite3.Connection, _record: object) -> None:
        # With a write-ahead log this still outlives any death of the process; only a power
        # cut may take the last commits, never the database.
        connection.execute("PRAGMA synchronous=NORMAL")

    return engine


def _postgresql(url: sa.URL) -> sa.Engine:
    try:
        return sa.create_engine(
            url, pool_pre_ping=True, connect_args={"connect_timeout": _CONNECT_S}
        )
    except ImportError as error:
        raise MissingExtraError("A store on PostgreSQL", "postgres") from error


def _prepare_sqlite(engine: sa.Engine, name: str, *, create: bool) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        found = sa.inspect(connection).get_table_names()
        if not found and create:
            connection.exec_driver_sql(f"PRAGMA page_size={_PAGE_BYTES}")
            _keep_write_ahead_log(connection)
        elif tables.schema.name not in found:
            raise StoreError(f"{name} is a database, but not a store.", remedy=_ELSEWHERE)
        if create and (not found or _version(connection) < tables.SCHEMA_VERSION):
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            _make_schema(connection)
            connection.exec_driver_sql("COMMIT")
        _check_version(connection, name)


# Switching the journal needs the file alone, and SQLite does not wait for that by itself.
@retry(
    retry=retry_if_exception_type(OperationalError),
    stop=stop_after_delay(_BUSY_S),
    wait=wait_random(0.005, 0.05),
    reraise=True,
)
def _keep_write_ahead_log(connection: sa.Connection) -> None:
    connection.exec_driver_sql("PRAGMA journal_mode=WAL")


def _prepare_postgresql(engine: sa.Engine, name: str, *, create: bool) -> None:
    with engine.begin() as connection:
        if not sa.inspect(connection).has_table(tables.schema.name):
            if not create:
                raise _missing(name)
            _make_shared_schema(connection)
        elif create and _version(connection) < tables.SCHEMA_VERSION:
            _make_shared_schema(connection)
        _check_version(connection, name)


def _make_shared_schema(connection: sa.Connection) -> None:
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_SCHEMA_LOCK)))
    _make_schema(connection)


def _make_schema(connection: sa.Connection) -> None:
    """Create what is missing; the caller keeps other processes out."""
    tables.metadata.create_all(connection)
    connection.execute(tables.schema.delete())
    connection.execute(tables.schema.insert().values(version=tables.SCHEMA_VERSION))


def _version(connection: sa.Connection) -> int:
    return int(connection.execute(sa.select(tables.schema.c.version)).scalar_one())


def _check_version(connection: sa.Connection, name: str) -> None:
    version = _version(connection)
    if version > tables.SCHEMA_VERSION:
        raise StoreError(
            f"The store {name} has schema {version}; this agentgym reads up to "
            f"{tables.SCHEMA_VERSION}.",
            remedy="Upgrade agentgym, or name another store.",
        )


def _missing(name: str) -> StoreError:
    return StoreError(f"There is no store at {name}.", remedy=_ELSEWHERE)
