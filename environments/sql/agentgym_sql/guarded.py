"""A guarded SQLite connection: runs one statement at a time within its limits.

Worker processes run the agent's statements through it, and loaders of trusted benchmark
files run gold queries through it in their own process, so one guard serves both.
"""

import re
import sqlite3
from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path
from typing import TypeVar

from agentgym_sql.catalog import state_hash, tables
from agentgym_sql.clock import Reproducible
from agentgym_sql.guard import Guard
from agentgym_sql.results import DatabaseUnusableError, Result, StatementError, Table, Value

T = TypeVar("T")

SEVERAL_STATEMENTS = "Send one statement at a time."
EMPTY_STATEMENT = "The statement is empty."
TOO_MUCH_MEMORY = "The statement needs more memory than allowed."

_ANY_LENGTH = (1 << 31) - 1
_TOO_BIG = {
    sqlite3.SQLITE_TOOBIG: "A value, a row or the statement itself is larger than allowed.",
    sqlite3.SQLITE_NOMEM: TOO_MUCH_MEMORY,
    sqlite3.SQLITE_FULL: "The database would grow over its size limit.",
}
_LONG_STATEMENT = "query string is too large"  # raised by Python, without a code
_EMPTY = re.compile(r"(?:[\s;]|--[^\n]*|/\*.*?(?:\*/|$))*+", re.DOTALL)


class GuardedConnection:
    """One SQLite database under guard.

    Args:
        connection: In autocommit mode; belongs to this object from here on.
        writable: Whether its content may be changed.
        seed: Of `random()` and `randomblob()`.
    """

    def __init__(self, connection: sqlite3.Connection, *, writable: bool, seed: int) -> None:
        self.connection = connection
        connection.text_factory = _decode
        connection.execute("PRAGMA temp_store=MEMORY")
        if writable:
            connection.execute("PRAGMA foreign_keys=ON")
        self._reproducible = Reproducible(connection, seed)
        self._guard = Guard(connection, writable=writable)

    @property
    def wrote(self) -> bool:
        """Whether the last statement may have changed the database, even where it failed."""
        return self._guard.wrote

    def run(
        self, sql: str, *, timeout_s: float, max_rows: int, max_bytes: int, number: int = 0
    ) -> Result:
        """Run exactly one statement.

        Args:
            sql: The statement.
            timeout_s: Seconds until it is stopped and rolled back.
            max_rows: Rows returned at most.
            max_bytes: Text and blob bytes returned at most; other cells count 8.
            number: Its place in the episode, from which random values follow.

        Raises:
            StatementError: It did not run, and changed nothing.
        """
        self._begin(timeout_s, number)
        try:
            cursor = self.connection.execute(sql)
            try:
                return self._fetch(cursor, sql, max_rows, max_bytes)
            finally:
                cursor.close()
        except (sqlite3.Error, sqlite3.Warning, MemoryError, ValueError) as error:
            raise self._explain(error, timeout_s) from error

    def tables(self, *, timeout_s: float) -> list[Table]:
        """Return the tables and views, in the order they were created.

        Raises:
            StatementError: It took too long.
        """
        return self._read(tables, timeout_s)

    def state_hash(self, *, timeout_s: float, declared: Collection[str] | None = None) -> str:
        """Return the content's hash, as `catalog.state_hash` defines it.

        Raises:
            StatementError: It took too long.
        """
        return self._read(partial(state_hash, declared=declared), timeout_s)

    def close(self) -> None:
        """Close the connection; may be called again."""
        self._reproducible.close()
        self.connection.close()

    def _read(self, read: Callable[[sqlite3.Connection], T], timeout_s: float) -> T:
        self._begin(timeout_s, 0)
        # The statements are this package's own, and what is stored has to be readable.
        length = self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _ANY_LENGTH)
        try:
            return read(self.connection)
        except (sqlite3.Error, MemoryError) as error:
            raise self._explain(error, timeout_s) from error
        finally:
            self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, length)

    def _begin(self, timeout_s: float, number: int) -> None:
        self._reproducible.begin(number)
        self._guard.begin(timeout_s)

    def _fetch(self, cursor: sqlite3.Cursor, sql: str, max_rows: int, max_bytes: int) -> Result:
        if cursor.description is None:
            if _EMPTY.fullmatch(sql):
                raise StatementError("error", EMPTY_STATEMENT)
            count = cursor.rowcount
            return Result((), [], False, count if count >= 0 else None)
        rows, truncated = take(cursor, max_rows, max_bytes)
        if truncated and not rows and max_rows > 0 and not self.wrote:
            message = f"The first row is larger than the limit of {max_bytes} bytes."
            raise StatementError("too_big", message)
        columns = tuple(column[0] for column in cursor.description)
        return Result(columns, rows, truncated, len(rows) if self.wrote and not truncated else None)

    def _explain(self, error: Exception, timeout_s: float) -> StatementError:
        if self._guard.refusal is not None:
            return StatementError("refused", self._guard.refusal)
        if self._guard.expired:
            return StatementError.timeout(timeout_s)
        if isinstance(error, MemoryError):
            return StatementError("too_big", TOO_MUCH_MEMORY)
        if isinstance(error, UnicodeEncodeError):
            return StatementError("error", "The statement is not valid Unicode text.")
        text = str(error)
        if "one statement at a time" in text:
            return StatementError("refused", SEVERAL_STATEMENTS)
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _TOO_BIG or text == _LONG_STATEMENT:
            return StatementError("too_big", _TOO_BIG.get(code, _TOO_BIG[sqlite3.SQLITE_TOOBIG]))
        return StatementError("error", text)


def take(
    rows: Iterable[tuple[Value, ...]], max_rows: int, max_bytes: int
) -> tuple[list[tuple[Value, ...]], bool]:
    """Return the rows that fit, and whether some did not."""
    taken: list[tuple[Value, ...]] = []
    for row in rows:
        for value in row:
            max_bytes -= len(value) if isinstance(value, str | bytes) else 8
        if len(taken) == max_rows or max_bytes < 0:
            return taken, True
        taken.append(row)
    return taken, False


def _decode(text: bytes) -> str:
    # Benchmark files hold text that is not UTF-8; a row of it is no reason to fail.
    return text.decode("utf-8", "replace")


def read_only_uri(path: Path) -> str:
    """Return the URI that opens a file without locks, journals or any write to it."""
    return f"{path.resolve().as_uri()}?mode=ro&immutable=1"


def connect_read_only(uri: str) -> sqlite3.Connection:
    """Open a database file that nobody writes.

    Args:
        uri: As `read_only_uri` gives it.

    Raises:
        DatabaseUnusableError: It is not a SQLite database.
    """
    try:
        connection = sqlite3.connect(
            uri, uri=True, isolation_level=None, cached_statements=0, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise unreadable(error) from error
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        connection.close()
        raise unreadable(error) from error
    return connection


def unreadable(error: sqlite3.Error) -> DatabaseUnusableError:
    """Return the error of a file that SQLite cannot read."""
    return DatabaseUnusableError(
        f"The file is not a SQLite database that can be read ({error}).",
        "Give the path of a SQLite 3 file.",
    )


def guarded_connect(path: str | Path, *, seed: int = 0) -> GuardedConnection:
    """Open a database file read-only and guarded, in this process.

    For statements of trusted origin, such as a benchmark's gold queries: it holds them to
    reading and to their time limit, but one call that never returns to SQLite's loop is
    stopped only where a worker process runs it.

    Raises:
        DatabaseUnusableError: It cannot be opened.
    """
    connection = connect_read_only(read_only_uri(Path(path)))
    return GuardedConnection(connection, writable=False, seed=seed)
