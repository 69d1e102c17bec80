"""What a worker process does with a server: runs one session's statements under its role.

It is given the session's own URL only: a role that can do nothing beyond the one database,
with a password made for the session. Time limits are kept from outside the SQL session, by
cancelling over a second connection, so that no setting of the agent's reaches them.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, create_engine, exc, inspect, make_url
from sqlalchemy.engine.interfaces import ReflectedColumn
from sqlalchemy.pool import NullPool

from agentgym_sql.fingerprint import digest, normal_sql, rows_digest
from agentgym_sql.gate import check
from agentgym_sql.guarded import take
from agentgym_sql.results import (
    Column,
    DatabaseUnusableError,
    ForeignKey,
    Result,
    StatementError,
    Table,
)
from agentgym_sql.server_drivers import Driver, driver_of
from agentgym_sql.wire import Frame, Json


class Watchdog:
    """Calls `cancel` from a thread of its own when a statement overstays.

    Args:
        cancel: Ends the running statement; called in the watchdog's thread.
    """

    def __init__(self, cancel: Callable[[], None]) -> None:
        self._cancel = cancel
        self._changed = threading.Condition()
        self._timeout_s: float | None = None
        self._turn = 0
        self.expired = False
        threading.Thread(target=self._watch, daemon=True).start()

    @contextmanager
    def limit(self, timeout_s: float) -> Iterator[None]:
        """Watch what runs inside for that long."""
        self._set(timeout_s)
        try:
            yield
        finally:
            self._set(None)

    def _set(self, timeout_s: float | None) -> None:
        with self._changed:
            self._timeout_s = timeout_s
            if timeout_s is not None:
                self.expired = False
                self._turn += 1
                self._changed.notify()

    def _watch(self) -> None:
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._timeout_s is not None)
                turn = self._turn
                over = not self._changed.wait_for(
                    lambda turn=turn: self._turn != turn,  # type: ignore[misc]
                    self._timeout_s,
                )
                if over and self._timeout_s is not None:
                    self.expired = True
                    self._timeout_s = None
                    self._cancel()
