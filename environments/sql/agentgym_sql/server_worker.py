"""What a worker process does with a server: runs one session's statements under its role.

It is given the session's own URL only: a role that can do nothing beyond the one database,
with a password made for the session. Time limits are kept from outside the SQL session, by
cancelling over a second connection, so that no setting of the agent's reaches them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from sqlalchemy import URL, Connection, create_engine, exc, make_url
from sqlalchemy.pool import NullPool

from agentgym_sql.gate import check
from agentgym_sql.results import DatabaseLostError, DatabaseUnusableError, StatementError
from agentgym_sql.server_catalog import state_hash, tables
from agentgym_sql.server_drivers import Driver, Raw, driver_of
from agentgym_sql.watchdog import Watchdog
from agentgym_sql.wire import Frame


class ServerWorker:
    """Serves one session after another, each on connections of its own role."""

    def __init__(self) -> None:
        self._session: _RoleSession | None = None
        self._watchdog = Watchdog(self._cancel)
        self.operations: dict[str, Callable[..., Frame]] = {
            "open": self.open,
            "execute": self.execute,
            "tables": self.tables,
            "hash": self.hash,
            "close": self.close,
        }

    def open(self, _blob: bytes, url: str, writable: bool, seed: int) -> Frame:
        """Connect as the session's role."""
        self.close(b"")
        self._session = _RoleSession(make_url(url), self._watchdog, writable=writable, seed=seed)
        self._session.connection()
        return None, b""

    def execute(
        self,
        _blob: bytes,
        sql: str,
        number: int,
        timeout_s: float,
        max_rows: int,
        max_bytes: int,
    ) -> Frame:
        """Run a statement; answers as `SqliteWorker.execute` does."""
        session = self._opened()
        try:
            passed = check(sql, writable=session.writable, mysql=session.driver.mysql)
        except StatementError as error:
            return ["fault", False, error.kind, error.message], b""
        try:
            with session.raw(timeout_s, sql, harmless=not passed.writes) as raw:
                session.driver.seed(raw, sql, f"{session.seed}/{number}")
                result = session.driver.run(raw, sql, passed, max_rows, max_bytes)
        except StatementError as error:
            return ["fault", passed.writes, error.kind, error.message], b""
        if result.truncated and not result.rows and max_rows > 0 and not passed.writes:
            message = f"The first row is larger than the limit of {max_bytes} bytes."
            return ["fault", False, "too_big", message], b""
        return ["result", passed.writes, *result], b""

    def tables(self, _blob: bytes, timeout_s: float) -> Frame:
        """Answer with the tables."""
        session = self._opened()
        with session.raw(timeout_s, "", harmless=True):
            return tables(session.connection()), b""

    def hash(self, _blob: bytes, timeout_s: float, declared: list[str] | None) -> Frame:
        """Answer with the content's hash."""
        session = self._opened()
        with session.raw(timeout_s, "", harmless=True) as raw:
            rows = partial(session.driver.stream, raw)
            return state_hash(session.connection(), rows, declared, session.driver.unreadable), b""

    def close(self, _blob: bytes) -> Frame:
        """Disconnect; does nothing where nothing is open."""
        if self._session is not None:
            self._session.discard()
            self._session = None
        return None, b""

    def _cancel(self) -> None:
        if self._session is not None:
            self._session.cancel()

    def _opened(self) -> "_RoleSession":
        if self._session is None:
            raise DatabaseUnusableError("No database is open.", "Open one first.")
        return self._session


class _RoleSession:
    def __init__(self, url: URL, watchdog: Watchdog, *, writable: bool, seed: int) -> None:
        self.writable = writable
        self.seed = seed
        self.driver: Driver = driver_of(url)
        self.errors: tuple[type[Exception], ...] = (exc.DBAPIError, *self.driver.errors)
        self._engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        self._connection: Connection | None = None
        self._watchdog = watchdog

    def connection(self) -> Connection:
        """Return the role's connection, made where there is none.

        Raises:
            DatabaseLostError: The server does not take it.
        """
        if self._connection is None:
            try:
                self._connection = self._engine.connect()
                self.driver.prepare(self._raw(self._connection))
            except self.errors as error:
                raise DatabaseLostError(f"The server takes no connection: {error}") from error
        return self._connection

    @contextmanager
    def raw(self, timeout_s: float, sql: str, *, harmless: bool) -> Iterator[Raw]:
        """Lend the driver's connection, and end what runs on it after that long.

        Args:
            timeout_s: Seconds.
            sql: The statement, to explain errors by.
            harmless: Whether a statement that ended just at its limit may count as stopped.

        Raises:
            StatementError: It failed, or was stopped.
            DatabaseLostError: The server is gone.
        """
        raw = self._raw(self.connection())
        spent = False
        try:
            with self._watchdog.limit(timeout_s):
                yield raw
            if self._watchdog.expired and harmless:
                raise StatementError.timeout(timeout_s)
        except self.errors as error:
            if self._watchdog.expired:
                raise StatementError.timeout(timeout_s) from error
            cause = error.orig if isinstance(error, exc.DBAPIError) else error
            told = self.driver.explain(cause or error, sql)
            # Some servers close a connection that took too much, after saying so.
            spent = not isinstance(told, StatementError) or told.kind == "too_big"
            raise told from error
        except self.driver.unreadable as error:
            spent = True
            message = f"The result holds a value that cannot be read ({type(error).__name__})."
            raise StatementError("error", message) from error
        finally:
            # No setting or lock of a statement outlives it: what is not plainly clean goes.
            if spent or self._watchdog.expired or not self.driver.clean(raw):
                self.discard()

    def discard(self) -> None:
        """Close the connection; the next use makes a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()
            connection.close()

    def cancel(self) -> None:
        """End what runs; called by the watchdog."""
        if self._connection is not None:
            self.driver.cancel(self._raw(self._connection))

    def _raw(self, connection: Connection) -> Raw:
        return connection.connection.driver_connection
