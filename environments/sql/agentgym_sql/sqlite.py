"""SQLite, the embedded default: each session is a worker process with a view of its own.

A read-only session opens the file itself, immutable, whatever its size. A writable one has a
private copy, in memory or in a file without a name. The host keeps the statements that wrote:
where a statement has to be stopped by killing its worker, the view is built again from the
file and those statements, so that the agent finds the database as it was before.
"""

from collections.abc import Hashable, MutableMapping
from pathlib import Path
from typing import NamedTuple

from agentgym.errors import UsageError
from agentgym_sql import wire
from agentgym_sql.pool import Worker, WorkerPool
from agentgym_sql.session import Backend, SavedState
from agentgym_sql.worker import SQLITE
from agentgym_sql.worker_session import SERVICE_S, WorkerSession

GRACE_S = 1.0

_pristine: dict[Hashable, str] = {}
"""Hashes of files as they are, for every backend of this process."""


class FileIdentity(NamedTuple):
    """A file's content, as far as the file system tells without reading it."""

    path: str
    changed_ns: int
    size: int


class SavedSqlite(NamedTuple):
    """A SQLite view's state; the image is None where nothing was written."""

    image: bytes | None
    statements: int
    state_hash: str | None


class SqliteBackend(Backend):
    """Opens views of SQLite files.

    Args:
        max_idle: Worker processes kept at most between episodes.
    """

    def __init__(self, *, max_idle: int = 16) -> None:
        self._pool = WorkerPool(SQLITE, site_packages=False, max_idle=max_idle)

    async def open(
        self, path: str | Path, *, writable: bool = False, seed: int = 0
    ) -> "SqliteSession":
        """See `Backend.open`."""
        file = identity(path)
        session = SqliteSession(self._pool, _pristine, file, writable=writable, seed=seed)
        await session.start()
        return session

    async def close(self) -> None:
        """See `Backend.close`."""
        await self._pool.close()


class SqliteSession(WorkerSession):
    """A view of one SQLite file; `SqliteBackend.open` makes it."""

    def __init__(
        self,
        pool: WorkerPool,
        pristine: MutableMapping[Hashable, str],
        file: FileIdentity,
        *,
        writable: bool,
        seed: int,
    ) -> None:
        super().__init__(pool, pristine, file, GRACE_S)
        self._path = file.path
        self._writable = writable
        self._seed = seed
        self._image: bytes | None = None
        self._log: list[list[wire.Json]] = []

    async def save(self) -> SavedSqlite:
        """See `Session.save`."""
        async with self._lock:
            await self._ready()
            if self._log:
                _, self._image = await self._serve("saving the database", "save")
                self._log.clear()
            return SavedSqlite(self._image, self._statements, self._hash)

    async def load(self, saved: SavedState) -> None:
        """See `Session.load`."""
        if not isinstance(saved, SavedSqlite):
            raise UsageError("This is no saved SQLite state.", remedy="Load what `save` gave.")
        async with self._lock:
            worker = await self._ready()
            self._image, self._statements, self._hash = saved
            self._changed = self._image is not None
            self._log.clear()
            self._worker = None
            self._pool.give_back(worker)
            await self._ready()

    async def _build(self, worker: Worker) -> None:
        if self._image is None:
            arguments = [self._path, self._writable, self._seed]
            await worker.call("open", *arguments, timeout_s=SERVICE_S)
        else:
            await worker.call("load", self._seed, blob=self._image, timeout_s=SERVICE_S)
        for statement in self._log:
            await worker.call("execute", *statement, timeout_s=statement[2] + GRACE_S)

    def _note(self, arguments: list[wire.Json]) -> None:
        self._log.append(arguments)

    async def _release(self) -> None:
        self._image = None
        self._log.clear()


def identity(path: str | Path) -> FileIdentity:
    """Return a database file's identity.

    Raises:
        UsageError: There is no such file.
    """
    try:
        file = Path(path).resolve(strict=True)
        stat = file.stat()
    except OSError as error:
        raise UsageError(
            f"There is no database file {path} ({error.strerror}).",
            remedy="Give the path of a SQLite 3 file.",
        ) from error
    return FileIdentity(str(file), stat.st_mtime_ns, stat.st_size)
