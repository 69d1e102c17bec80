"""PostgreSQL, MariaDB and MySQL: a role and, to write, a database of its own per session.

The canonical source stays the SQLite file, which is loaded once into a template on the server.
The agent's statements run in a worker process that knows its session's role alone; the
administrator's URL is known to one other worker, which runs none of the agent's SQL.
"""

import asyncio
import importlib.util
import secrets
from collections.abc import Hashable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import URL, exc, make_url

from agentgym.errors import AgentgymError, EnvironmentLostError, MissingExtraError, UsageError
from agentgym_sql import wire
from agentgym_sql.pool import Worker, WorkerPool, infrastructure_errors
from agentgym_sql.server_admin import SESSIONS, TEMPLATES
from agentgym_sql.session import Backend, SavedState
from agentgym_sql.sqlite import identity
from agentgym_sql.tasks import Dialect
from agentgym_sql.worker import ADMIN, SERVER
from agentgym_sql.worker_session import SERVICE_S, WorkerSession

GRACE_S = 3.0
GROWTH_BYTES = 64 << 20
"""What an episode may add to its database, beyond once its first size."""

LOAD_S = 900.0
"""Seconds for loading a file into its template."""


class _Engine(NamedTuple):
    dialect: Dialect
    driver: str
    module: str
    extra: str


_POSTGRES = _Engine("postgresql", "postgresql+psycopg", "psycopg", "postgres")
_MYSQL = _Engine("mysql", "mysql+pymysql", "pymysql", "mysql")
_MARIADB = _Engine("mysql", "mariadb+pymysql", "pymysql", "mysql")
_ENGINES = {
    "postgresql": _POSTGRES,
    "postgresql+psycopg": _POSTGRES,
    "mysql": _MYSQL,
    "mysql+pymysql": _MYSQL,
    "mariadb": _MARIADB,
    "mariadb+pymysql": _MARIADB,
}

_REMEDY = "Give a URL such as postgresql+psycopg://user:password@host:5432/postgres or mysql+pymysql://..."


def open_server(url: str) -> tuple["ServerBackend", Dialect]:
    """Return the backend for a server's URL, and the dialect it speaks; connects to nothing.

    Raises:
        UsageError: It is no URL, or not of an engine that is served.
        MissingExtraError: The engine's driver is not installed.
    """
    try:
        parsed = make_url(url)
    except exc.ArgumentError as error:
        raise UsageError("The database URL cannot be read.", remedy=_REMEDY) from error
    engine = _ENGINES.get(parsed.drivername)
    if engine is None:
        raise UsageError(f"No engine serves {parsed.drivername!r} URLs.", remedy=_REMEDY)
    if importlib.util.find_spec(engine.module) is None:
        raise MissingExtraError(f"A {parsed.get_backend_name()} server", engine.extra)
    return ServerBackend(parsed.set(drivername=engine.driver)), engine.dialect


class ServerBackend(Backend):
    """Opens sessions on a server; `open_server` makes it.

    Args:
        url: An administrator's, with the driver that is used.
        max_idle: Worker processes kept at most between episodes.
    """

    def __init__(self, url: URL, *, max_idle: int = 16) -> None:
        self._url = url
        self._pool = WorkerPool(SERVER, site_packages=True, max_idle=max_idle)
        self._admins = WorkerPool(ADMIN, site_packages=True, max_idle=0)
        self._admin: Worker | None = None
        self._locks: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
        self._owner = secrets.token_hex(4)
        self._numbers = count()
        self._saved: list[str] = []
        self._pristine: dict[Hashable, str] = {}

    async def open(
        self, path: str | Path, *, writable: bool = False, seed: int = 0
    ) -> "ServerSession":
        """See `Backend.open`."""
        file = identity(path)
        key = await self.ask("loading the database", "template", *file, timeout_s=LOAD_S)
        name = self.new_name()
        password = secrets.token_hex(16)
        arguments = [name, password, key, writable]
        session_url = await self.ask("opening the database", "create", *arguments)
        place = _Place(name, session_url, key, writable, seed)
        session = ServerSession(self, self._pool, self._pristine, place)
        try:
            await session.start()
            await session.measure()
        except BaseException:
            await session.close()
            raise
        return session

    async def close(self) -> None:
        """See `Backend.close`."""
        await self._pool.close()
        if self._admin is not None and self._saved:
            with suppress(AgentgymError):
                await self.ask("dropping saved states", "drop_saved", self._saved)
            self._saved.clear()
        if self._admin is not None:
            self._admins.give_back(self._admin)
            self._admin = None
        await self._admins.close()

    def new_name(self, *, saved: bool = False) -> str:
        """Return an unused name on the server, kept to be dropped if it is a saved state's."""
        name = f"{SESSIONS}{self._owner}_{next(self._numbers)}"
        if saved:
            self._saved.append(name)
        return name

    async def ask(
        self, doing: str, operation: str, *arguments: wire.Json, timeout_s: float = SERVICE_S
    ) -> wire.Json:
        """Have the administrator's worker do something.

        Raises:
            UsageError: The server or the file cannot be used.
            EnvironmentLostError: The server or the worker died.
            EnvironmentTimeoutError: It took too long.
        """
        async with self._turn():
            if self._admin is None:
                worker = self._admins.take()
                try:
                    with infrastructure_errors("connecting to the server"):
                        url = self._url.render_as_string(hide_password=False)
                        await worker.call("connect", url, self._owner, timeout_s=SERVICE_S)
                except BaseException:
                    self._admins.drop(worker)
                    raise
                self._admin = worker
            worker = self._admin
            try:
                with infrastructure_errors(doing):
                    reply, _ = await worker.call(operation, *arguments, timeout_s=timeout_s)
            except EnvironmentLostError:
                # Its connection, and with it the owner's lock, may be gone: connect anew.
                self._admin = None
                self._admins.drop(worker)
                raise
            finally:
                if not worker.alive:
                    self._admin = None
            return reply

    def _turn(self) -> asyncio.Lock:
        # A lock belongs to the event loop it was waited for in; a backend may outlive loops.
        loop = asyncio.get_running_loop()
        if self._locks is None or self._locks[0] is not loop:
            self._locks = loop, asyncio.Lock()
        return self._locks[1]


class _Place(NamedTuple):
    name: str
    url: str
    key: str
    writable: bool
    seed: int


class SavedServer(NamedTuple):
    """A server session's state: a copy of its database; None where nothing was written."""

    database: str | None
    statements: int
    state_hash: str | None


class ServerSession(WorkerSession):
    """A session on a server; `ServerBackend.open` makes it."""

    def __init__(
        self,
        backend: ServerBackend,
        pool: WorkerPool,
        pristine: dict[Hashable, str],
        place: _Place,
    ) -> None:
        super().__init__(pool, pristine, place.key, GRACE_S)
        self._backend = backend
        self._place = place
        self._built = False
        self._most_bytes: int | None = None

    async def measure(self) -> None:
        """Take the database's size as the first; called by the backend."""
        if self._place.writable:
            self._most_bytes = 2 * await self._size() + GROWTH_BYTES

    @property
    def url(self) -> str:
        """Where the session connects, as whom; a secret, though of no use beyond the session."""
        return self._place.url

    async def save(self) -> SavedServer:
        """See `Session.save`."""
        async with self._lock:
            await self._ready()
            database = None
            if self._changed:
                database = self._backend.new_name(saved=True)
                await self._disconnect()
                await self._backend.ask("saving the database", "save", self._place.name, database)
            return SavedServer(database, self._statements, self._hash)

    async def load(self, saved: SavedState) -> None:
        """See `Session.load`."""
        if not isinstance(saved, SavedServer):
            raise UsageError("This is no saved server state.", remedy="Load what `save` gave.")
        async with self._lock:
            await self._ready()
            if self._changed or saved.database is not None:
                await self._disconnect()
                source = saved.database or f"{TEMPLATES}{self._place.key}"
                await self._backend.ask(
                    "restoring the database", "restore", self._place.name, source
                )
            self._changed = saved.database is not None
            self._statements, self._hash = saved.statements, saved.state_hash
            self._overgrown = self._changed and await self._outgrew()
            await self._ready()

    async def _build(self, worker: Worker) -> None:
        if self._built:
            # What the killed worker left running has to be gone, its changes undone.
            await self._backend.ask("ending a statement", "evict", self._place.name)
        arguments = [self._place.url, self._place.writable, self._place.seed]
        await worker.call("open", *arguments, timeout_s=SERVICE_S)
        self._built = True

    def _note(self, arguments: list[wire.Json]) -> None:
        """Nothing to keep: the server has it."""

    async def _outgrew(self) -> bool:
        return self._most_bytes is not None and await self._size() > self._most_bytes

    async def _size(self) -> int:
        size = await self._backend.ask("measuring the database", "size", self._place.name)
        return int(size)

    async def _release(self) -> None:
        # What cannot be dropped now is dropped once this backend's lock is free.
        with suppress(AgentgymError):
            await self._backend.ask("closing the database", "drop", self._place.name)

    async def _disconnect(self) -> None:
        await self._serve("disconnecting", "close")
        if self._worker is not None:
            self._pool.give_back(self._worker)
            self._worker = None
