"""How one statement runs through PostgreSQL's and MySQL's drivers, within its limits."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import URL, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from agentgym_sql.clock import NOW
from agentgym_sql.gate import Passed
from agentgym_sql.guarded import SEVERAL_STATEMENTS, TOO_MUCH_MEMORY, take
from agentgym_sql.results import DatabaseLostError, Result, StatementError, Value
from agentgym_sql.server_values import normal_row

if TYPE_CHECKING:
    import psycopg


Raw: TypeAlias = Any
"""A driver's own connection."""

CANCEL_S = 5
NOT_ALLOWED = "This is not allowed: the statement needs a privilege that is not given here."


# Reading the rest of a result that is cut costs less than stopping it, up to here.
_DRAINED_ROWS = 5000
_DRAINED_BYTES = 1 << 20


class Driver(ABC):
    """One engine's way to run a statement on a driver connection in autocommit mode."""

    errors: tuple[type[Exception], ...]
    # What is raised where a value is no Python object, such as JSON nested a thousand deep.
    unreadable: tuple[type[Exception], ...] = (ValueError, ArithmeticError, RecursionError)
    mysql: bool

    @abstractmethod
    def prepare(self, raw: Raw) -> None:
        """Set up a fresh connection."""

    @abstractmethod
    def seed(self, raw: Raw, sql: str, key: str) -> None:
        """Make the engine's random numbers follow from `key`, where the statement uses them."""

    @abstractmethod
    def run(self, raw: Raw, sql: str, passed: Passed, max_rows: int, max_bytes: int) -> Result:
        """Run one statement that the gate let pass; may leave the connection unclean."""

    @abstractmethod
    def stream(self, raw: Raw, sql: str) -> Iterator[tuple[Value, ...]]:
        """Yield the rows of a query one by one."""

    @abstractmethod
    def cancel(self, raw: Raw) -> None:
        """End what runs on the connection, from outside of it; called in another thread."""

    @abstractmethod
    def clean(self, raw: Raw) -> bool:
        """Whether the connection is usable and in no transaction."""

    @abstractmethod
    def explain(self, error: Exception, sql: str) -> Exception:
        """Return the statement's fault, or the loss of the server."""


class Postgres(Driver):
    """PostgreSQL through psycopg."""

    mysql = False

    def __init__(self) -> None:
        import psycopg

        self.errors = (psycopg.Error,)
        self.unreadable = (*Driver.unreadable, psycopg.DataError)

    def prepare(self, raw: "psycopg.Connection[Any]") -> None:
        """See `Driver.prepare`; the role carries its settings."""

    def seed(self, raw: "psycopg.Connection[Any]", sql: str, key: str) -> None:
        """See `Driver.seed`."""
        if "random" in sql.lower():
            raw.execute("SELECT setseed(%s)", (Random(key).uniform(-1, 1),))

    def run(
        self,
        raw: "psycopg.Connection[Any]",
        sql: str,
        passed: Passed,
        max_rows: int,
        max_bytes: int,
    ) -> Result:
        """See `Driver.run`."""
        with raw.cursor() as cursor:
            if passed.writes:
                # Whole and prepared: a change cut short is undone, and preparing allows one
                # statement only, as streaming does.
                cursor.execute(sql.encode(), prepare=True)
                fetched = cursor if cursor.description else ()
                rows, truncated = take(map(normal_row, fetched), max_rows, max_bytes)
            else:
                stream = cursor.stream(sql.encode())
                values = map(normal_row, stream)
                rows, truncated = take(values, max_rows, max_bytes)
                _drain(values, truncated)
                stream.close()  # type: ignore[attr-defined]  # cancels what is left
            columns = tuple(column.name for column in cursor.description or ())
            count = cursor.rowcount if passed.counts else None
        return Result(columns, rows, truncated, count)

    def stream(self, raw: "psycopg.Connection[Any]", sql: str) -> Iterator[tuple[Value, ...]]:
        """See `Driver.stream`."""
        with raw.cursor() as cursor:
            yield from map(normal_row, cursor.stream(sql.encode()))

    def cancel(self, raw: "psycopg.Connection[Any]") -> None:
        """See `Driver.cancel`."""
        with suppress(*self.errors):
            raw.cancel_safe(timeout=CANCEL_S)

    def clean(self, raw: "psycopg.Connection[Any]") -> bool:
        """See `Driver.clean`."""
        status = raw.info.transaction_status
        return not raw.closed and status == type(status).IDLE

    def explain(self, error: Exception, sql: str) -> Exception:
        """See `Driver.explain`."""
        code = getattr(error, "sqlstate", None)
        diagnosis = getattr(error, "diag", None)
        text = (diagnosis and diagnosis.message_primary) or str(error).split("\n", 1)[0]
        if code is None and "out of memory" in text:
            return StatementError("too_big", TOO_MUCH_MEMORY)
        if (code is None and not _is_data_error(error)) or (code or "").startswith(("08", "57P")):
            return DatabaseLostError(f"PostgreSQL closed the connection: {text}")
        if code == "42601" and "multiple commands" in text:
            return StatementError("refused", SEVERAL_STATEMENTS)
        if code in ("42501", "25006"):
            return StatementError("refused", f"{NOT_ALLOWED[:-1]} ({text}).")
        kind = "too_big" if (code or "")[:2] in ("53", "54") else "error"
        return StatementError(kind, text)  # type: ignore[arg-type]


def _is_data_error(error: Exception) -> bool:
    import psycopg

    return isinstance(
        error, psycopg.DataError | psycopg.ProgrammingError | psycopg.NotSupportedError
    )


_DENIED = frozenset({1044, 1045, 1142, 1143, 1227, 1290, 1410, 1419})
_BIG = frozenset({1037, 1038, 1041, 1114, 1153, 1301, 1317, 1927})
_GONE = frozenset({0, 1053, 1077, 2006, 2013, 2014, 2055})
_NAMES = re.compile(r" (?:to|for) user '[^']*'@'[^']*'")
_NO_ROUTINE = 1370
_IN_TRANSACTION = 1


class MySQL(Driver):
    """MariaDB and MySQL through PyMySQL."""

    mysql = True

    def __init__(self, url: URL) -> None:
        import pymysql

        self.errors = (pymysql.err.Error,)
        self._database = url.database or ""
        self._other = create_engine(url, poolclass=NullPool)
        self._left: Raw = None

    def prepare(self, raw: Raw) -> None:
        """See `Driver.prepare`: fixes the clock, and bounds memory where the engine can."""
        with raw.cursor() as cursor:
            cursor.execute(
                # Four digits more than the divided have, by default: AVG(x) would differ from
                # SUM(x) * 1.0 / COUNT(x).
                "SET div_precision_increment = 15, "
                "time_zone = '+00:00', timestamp = unix_timestamp(%s), "
                "sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,NO_DIR_IN_CREATE'",
                (NOW,),
            )
            if "MariaDB" in raw.get_server_info():
                cursor.execute("SET max_session_mem_used = 268435456")

    def seed(self, raw: Raw, sql: str, key: str) -> None:
        """See `Driver.seed`."""
        if "rand" in sql.lower():
            draw = Random(key)
            with raw.cursor() as cursor:
                cursor.execute(
                    "SET rand_seed1 = %s, rand_seed2 = %s",
                    (draw.getrandbits(30), draw.getrandbits(30)),
                )

    def run(
        self,
        raw: Raw,
        sql: str,
        passed: Passed,
        max_rows: int,
        max_bytes: int,
    ) -> Result:
        """See `Driver.run`."""
        from pymysql.cursors import SSCursor

        cursor = raw.cursor(SSCursor)
        cursor.execute(sql)
        if cursor.description is None:
            count = cursor.rowcount if passed.counts else None
            cursor.close()
            return Result((), [], False, count)
        columns = tuple(column[0] for column in cursor.description)
        values = map(normal_row, iter(cursor.fetchone, None))
        rows, truncated = take(values, max_rows, max_bytes)
        if passed.writes or _drain(values, truncated):
            cursor.close()
        else:
            self._cut(raw, cursor)
        count = len(rows) if passed.counts and not truncated else None
        return Result(columns, rows, truncated, count)

    def _cut(self, raw: Raw, cursor: Any) -> None:
        self.cancel(raw)
        # The order to stop may still be on its way, and would hit the next statement.
        self._left = raw
        with suppress(*self.errors):
            cursor.close()  # reads on until it is told of the stop

    def stream(self, raw: Raw, sql: str) -> Iterator[tuple[Value, ...]]:
        """See `Driver.stream`."""
        from pymysql.cursors import SSCursor

        with raw.cursor(SSCursor) as cursor:
            cursor.execute(sql)
            yield from map(normal_row, iter(cursor.fetchone, None))

    def cancel(self, raw: Raw) -> None:
        """See `Driver.cancel`: a role may end its own connections."""
        with suppress(DBAPIError), self._other.connect() as other:
            other.exec_driver_sql(f"KILL QUERY {raw.thread_id()}")

    def clean(self, raw: Raw) -> bool:
        """See `Driver.clean`."""
        in_transaction = raw.server_status & _IN_TRANSACTION
        return raw.open and raw is not self._left and not in_transaction

    def explain(self, error: Exception, sql: str) -> Exception:
        """See `Driver.explain`."""
        code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        text = str(error.args[1] if len(error.args) > 1 else error)
        text = _NAMES.sub("", text).replace(f"`{self._database}`.", "")
        text = text.replace(f"{self._database}.", "").replace(f"'{self._database}'", "it")
        if code in _GONE:
            return DatabaseLostError(f"The server closed the connection: {text}")
        if code == 1064 and ";" in sql.rstrip("; \t\r\n"):
            return StatementError("refused", SEVERAL_STATEMENTS)
        if code == _NO_ROUTINE:
            return StatementError("error", f"There is no such function here ({text}).")
        if code in _DENIED:
            return StatementError("refused", f"{NOT_ALLOWED[:-1]} ({text}).")
        return StatementError("too_big" if code in _BIG else "error", text)


def _drain(values: Iterator[tuple[Value, ...]], truncated: bool) -> bool:
    return not truncated or not take(values, _DRAINED_ROWS, _DRAINED_BYTES)[1]


def driver_of(url: URL) -> Driver:
    """Return the driver for a URL's engine."""
    return Postgres() if url.get_backend_name() == "postgresql" else MySQL(url)
