"""SQLite, the embedded default: each session is a worker process with a view of its own.

A read-only session opens the file itself, immutable, whatever its size. A writable one has a
private copy, in memory or in a file without a name. The host keeps the statements that wrote:
where a statement has to be stopped by killing its worker, the view is built again from the
file and those statements, so that the agent finds the database as it was before.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from agentgym.errors import EnvironmentLostError, ProtocolError, UsageError
from agentgym_sql import wire
from agentgym_sql.pool import (
    Worker,
    WorkerLostError,
    WorkerPool,
    WorkerTimeoutError,
    infrastructure_errors,
)
from agentgym_sql.results import Column, ForeignKey, Result, StatementError, Table
from agentgym_sql.session import Backend, SavedState, Session
from agentgym_sql.worker import SQLITE

GRACE_S = 1.0
"""Seconds beyond its time limit until a statement's worker is killed."""

SERVICE_S = 60.0
"""Seconds for opening, saving, reading the schema or hashing."""

CRASHED = "The statement crashed the database engine. Nothing was changed."


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
        self._pristine: dict[tuple[str, int, int], str] = {}

    async def open(
        self, path: str | Path, *, writable: bool = False, seed: int = 0
    ) -> "SqliteSession":
        """See `Backend.open`."""
        key = _identity(path)
        session = SqliteSession(self._pool, key, self._pristine, writable=writable, seed=seed)
        await session.start()
        return session

    async def close(self) -> None:
        """See `Backend.close`."""
        await self._pool.close()


class SqliteSession(Session):
    """A view of one SQLite file; `SqliteBackend.open` makes it."""

    def __init__(
        self,
        pool: WorkerPool,
        file: tuple[str, int, int],
        pristine: dict[tuple[str, int, int], str],
        *,
        writable: bool,
        seed: int,
    ) -> None:
        self._pool = pool
        self._file = file
        self._pristine = pristine
        self._writable = writable
        self._seed = seed
        self._lock = asyncio.Lock()
        self._worker: Worker | None = None
        self._image: bytes | None = None
        self._log: list[list[wire.Json]] = []
        self._statements = 0
        self._hash: str | None = None
        self._ended: str | None = None

    async def start(self) -> None:
        """Open the view; called by the backend.

        Raises:
            UsageError: The file is no database.
            EnvironmentLostError: The worker died.
        """
        async with self._lock:
            await self._ready()

    async def execute(self, sql: str, *, timeout_s: float, max_rows: int, max_bytes: int) -> Result:
        """See `Session.execute`."""
        async with self._lock:
            worker = await self._ready()
            arguments = [sql, self._statements, timeout_s, max_rows, max_bytes]
            self._statements += 1
            reply = await self._run(worker, arguments)
            status, wrote, *values = reply
            if wrote:
                self._log.append(arguments)
                self._hash = None
            if status == "fault":
                raise StatementError(*values)
            return result_from_wire(values)

    async def schema(self) -> list[Table]:
        """See `Session.schema`."""
        reply, _ = await self._serve("reading the schema", "tables", SERVICE_S)
        return tables_from_wire(reply)

    async def state_hash(self) -> str:
        """See `Session.state_hash`."""
        pristine = self._image is None and not self._log
        if self._hash is None and pristine:
            self._hash = self._pristine.get(self._file)
        if self._hash is None:
            reply, _ = await self._serve("hashing the database", "hash", SERVICE_S)
            self._hash = str(reply)
            if pristine:
                self._pristine[self._file] = self._hash
        return self._hash

    async def save(self) -> SavedSqlite:
        """See `Session.save`."""
        if self._log:
            _, self._image = await self._serve("saving the database", "save")
            self._log.clear()
        return SavedSqlite(self._image, self._statements, self._hash)

    async def load(self, saved: SavedState) -> None:
        """See `Session.load`."""
        if not isinstance(saved, SavedSqlite):
            raise UsageError("This is no saved SQLite state.", remedy="Load what `save` gave.")
        async with self._lock:
            self._check_open()
            self._image, self._statements, self._hash = saved
            self._log.clear()
            self._discard()
            await self._ready()

    async def close(self) -> None:
        """See `Session.close`."""
        self._ended = self._ended or "The session is closed."
        self._image = None
        self._log.clear()
        worker, self._worker = self._worker, None
        if worker is None:
            return
        try:
            await worker.call("close", timeout_s=SERVICE_S)
        except (WorkerLostError, WorkerTimeoutError):
            self._pool.drop(worker)
        else:
            self._pool.give_back(worker)

    async def _run(self, worker: Worker, arguments: Sequence[wire.Json]) -> wire.Json:
        timeout_s = arguments[2]
        try:
            reply, _ = await worker.call("execute", *arguments, timeout_s=timeout_s + GRACE_S)
        except WorkerTimeoutError as error:
            raise StatementError.timeout(timeout_s) from error
        except WorkerLostError as error:
            if error.crashed:
                raise StatementError("error", CRASHED) from error
            self._ended = str(error)
            raise EnvironmentLostError(self._ended) from error
        finally:
            if not worker.alive:
                self._discard()
        return reply

    async def _serve(self, doing: str, operation: str, *arguments: wire.Json) -> wire.Frame:
        async with self._lock:
            worker = await self._ready()
            try:
                with infrastructure_errors(doing):
                    return await worker.call(operation, *arguments, timeout_s=SERVICE_S + GRACE_S)
            finally:
                if not worker.alive:
                    self._discard()

    async def _ready(self) -> Worker:
        self._check_open()
        if self._worker is None:
            worker = self._pool.take()
            try:
                with infrastructure_errors("opening the database"):
                    await self._build(worker)
            except UsageError:
                self._pool.give_back(worker)
                raise
            except BaseException:
                self._pool.drop(worker)
                raise
            self._worker = worker
        return self._worker

    async def _build(self, worker: Worker) -> None:
        if self._image is None:
            path = self._file[0]
            await worker.call("open", path, self._writable, self._seed, timeout_s=SERVICE_S)
        else:
            await worker.call("load", self._seed, blob=self._image, timeout_s=SERVICE_S)
        for arguments in self._log:
            await worker.call("execute", *arguments, timeout_s=arguments[2] + GRACE_S)

    def _check_open(self) -> None:
        if self._ended == "The session is closed.":
            raise ProtocolError(self._ended)
        if self._ended is not None:
            raise EnvironmentLostError(self._ended)

    def _discard(self) -> None:
        if self._worker is not None:
            self._pool.drop(self._worker)
            self._worker = None


def _identity(path: str | Path) -> tuple[str, int, int]:
    try:
        file = Path(path).resolve(strict=True)
        stat = file.stat()
    except OSError as error:
        raise UsageError(
            f"There is no database file {path} ({error.strerror}).",
            remedy="Give the path of a SQLite 3 file.",
        ) from error
    return str(file), stat.st_mtime_ns, stat.st_size


def result_from_wire(values: wire.Json) -> Result:
    """Return a worker's rows as a result."""
    columns, rows, truncated, rowcount = values
    return Result(tuple(columns), [tuple(row) for row in rows], truncated, rowcount)


def tables_from_wire(values: wire.Json) -> list[Table]:
    """Return a worker's tables."""
    return [
        Table(
            name,
            kind,
            tuple(Column(*column) for column in columns),
            tuple(ForeignKey(tuple(own), table, tuple(its)) for own, table, its in keys),
        )
        for name, kind, columns, keys in values
    ]
