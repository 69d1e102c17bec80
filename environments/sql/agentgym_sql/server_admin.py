"""What the administrator's worker does on a server: databases and roles for sessions.

Names on the server, all beginning with `agentgym_`:

* `agentgym_t_KEY`: the template, loaded once from the SQLite file with that content; kept.
* `agentgym_s_OWNER_N`: a session's role, and its database where it has one of its own.

OWNER is one backend, which holds a lock on the server as long as it lives. What belongs to an
owner whose lock is free is left over from a killed process, and is dropped.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, Engine, create_engine, exc, make_url
from sqlalchemy.pool import NullPool

from agentgym_sql.results import DatabaseLostError, DatabaseUnusableError
from agentgym_sql.wire import Frame

PREFIX = "agentgym_"
SESSIONS = f"{PREFIX}s_"
TEMPLATES = f"{PREFIX}t_"
_LAYOUT = b"2"
"""Raised with every change of how a file is loaded, so that no older template is used."""

URL_REMEDY = "Give the URL of a running server and a user that may create databases and roles."


class Admin(ABC):
    """One engine's administration.

    Args:
        url: Of an administrator.
    """

    def __init__(self, url: URL) -> None:
        self.url = url
        self.connection = self.engine(url).connect()

    def engine(self, url: URL) -> Engine:
        """Return an engine that commits each statement."""
        return create_engine(
            url,
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            # A percent sign in a statement without parameters is itself.
            execution_options={"no_parameters": True},
        )

    def sql(self, statement: str) -> None:
        """Run one of this package's own statements."""
        self.connection.exec_driver_sql(statement)

    def names(self, query: str) -> list[str]:
        """Return the first column of a query of this package's own."""
        return [str(row[0]) for row in self.connection.exec_driver_sql(query)]

    @abstractmethod
    def check(self) -> None:
        """Raise DatabaseUnusableError where the user may not do what is needed."""

    @abstractmethod
    def lock(self, name: str, *, wait: bool) -> bool:
        """Take the lock of that name for this connection's life; return whether it has it."""

    @abstractmethod
    def unlock(self, name: str) -> None:
        """Give a lock back."""

    @abstractmethod
    def load(self, key: str, path: Path) -> None:
        """Make the template from a SQLite file, unless it is whole already."""

    @abstractmethod
    def create(self, name: str, password: str, key: str, *, writable: bool) -> str:
        """Make a session's role and, if writable, its database; return the database's name."""

    @abstractmethod
    def copy(self, source: str, target: str) -> None:
        """Make `target` from `source`, to which no session is connected."""

    @abstractmethod
    def grant(self, name: str) -> None:
        """Let the role of that name into the database of that name."""

    @abstractmethod
    def size(self, name: str) -> int:
        """Return a database's size on disk, in bytes."""

    @abstractmethod
    def drop_database(self, name: str) -> None:
        """Drop a database if it is there, whoever is connected."""

    @abstractmethod
    def evict(self, name: str) -> None:
        """Close the role's connections, whatever they do; return when they are gone."""

    @abstractmethod
    def drop_role(self, name: str) -> None:
        """Drop a role if it is there."""

    @abstractmethod
    def sessions(self) -> list[str]:
        """Return the names of all session roles and databases on the server."""


class ServerAdmin:
    """The administrator's operations, one after another."""

    def __init__(self) -> None:
        self._admin: Admin | None = None
        self._keys: dict[tuple[str, int, int], str] = {}
        self.operations: dict[str, Callable[..., Frame]] = {
            "connect": self.connect,
            "template": self.template,
            "create": self.create,
            "save": self.save,
            "restore": self.restore,
            "evict": self.evict,
            "size": self.size,
            "drop": self.drop,
            "drop_saved": self.drop_saved,
        }

    def connect(self, _blob: bytes, url: str, owner: str) -> Frame:
        """Connect, become `owner`, and drop what dead owners left."""
        try:
            self._admin = admin_of(make_url(url))
        except exc.DBAPIError as error:
            reason = str(error.orig).strip().replace("\n", " ")
            message = f"The database server cannot be used: {reason}"
            raise DatabaseUnusableError(message, URL_REMEDY) from error
        with self._asking() as admin:
            admin.check()
            admin.lock(owner, wait=True)
            _reap(admin, owner)
        return None, b""

    def template(self, _blob: bytes, path: str, changed_ns: int, size: int) -> Frame:
        """Make sure that the file's template is on the server; answer with its key."""
        identity = (path, changed_ns, size)
        if identity not in self._keys:
            content = Path(path).read_bytes()
            key = hashlib.sha256(_LAYOUT + content).hexdigest()[:16]
            with self._asking() as admin:
                admin.lock(key, wait=True)
                try:
                    admin.load(key, Path(path))
                finally:
                    admin.unlock(key)
            self._keys[identity] = key
        return self._keys[identity], b""

    def create(self, _blob: bytes, name: str, password: str, key: str, writable: bool) -> Frame:
        """Make a session's role and database; answer with the session's URL."""
        with self._asking() as admin:
            database = admin.create(name, password, key, writable=writable)
            url = admin.url.set(username=name, password=password, database=database)
        return url.render_as_string(hide_password=False), b""

    def save(self, _blob: bytes, name: str, saved: str) -> Frame:
        """Copy a session's database, from which its worker has disconnected."""
        with self._asking() as admin:
            admin.evict(name)
            admin.copy(name, saved)
        return None, b""

    def restore(self, _blob: bytes, name: str, saved: str) -> Frame:
        """Put a copy in the place of a session's database."""
        with self._asking() as admin:
            admin.drop_database(name)
            admin.copy(saved, name)
            admin.grant(name)
        return None, b""

    def evict(self, _blob: bytes, name: str) -> Frame:
        """End whatever a session's role still runs."""
        with self._asking() as admin:
            admin.evict(name)
        return None, b""

    def size(self, _blob: bytes, name: str) -> Frame:
        """Answer with the size of a session's database, in bytes."""
        with self._asking() as admin:
            return admin.size(name), b""

    def drop(self, _blob: bytes, name: str) -> Frame:
        """Drop a session's role and database."""
        with self._asking() as admin:
            _drop(admin, name)
        return None, b""

    def drop_saved(self, _blob: bytes, saved: list[str]) -> Frame:
        """Drop copies."""
        with self._asking() as admin:
            for name in saved:
                admin.drop_database(name)
        return None, b""

    @contextmanager
    def _asking(self) -> Iterator[Admin]:
        if self._admin is None:
            raise DatabaseUnusableError("No server is connected.", "Connect first.")
        try:
            yield self._admin
        except exc.DBAPIError as error:
            reason = str(error.orig).strip().replace("\n", " ")
            raise DatabaseLostError(f"The database server failed: {reason}") from error


def _drop(admin: Admin, name: str) -> None:
    admin.evict(name)
    admin.drop_database(name)
    admin.drop_role(name)


def _reap(admin: Admin, own: str) -> None:
    left: dict[str, list[str]] = {}
    for name in admin.sessions():
        left.setdefault(name.removeprefix(SESSIONS).split("_")[0], []).append(name)
    for owner, names in left.items():
        if owner != own and admin.lock(owner, wait=False):
            for name in names:
                _drop(admin, name)
            admin.unlock(owner)


def admin_of(url: URL) -> Admin:
    """Return the administration of a URL's engine, connected."""
    if url.get_backend_name() == "postgresql":
        from agentgym_sql.postgres_admin import PostgresAdmin

        return PostgresAdmin(url)
    from agentgym_sql.mysql_admin import MySQLAdmin

    return MySQLAdmin(url)
