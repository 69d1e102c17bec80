"""A session whose statements run in a worker process: what all engines share."""

import asyncio
from abc import abstractmethod
from collections.abc import Collection, Hashable, MutableMapping

from agentgym.errors import EnvironmentLostError, ProtocolError, UsageError
from agentgym_sql import wire
from agentgym_sql.guard import MAX_STATEMENT
from agentgym_sql.pool import (
    Worker,
    WorkerLostError,
    WorkerPool,
    WorkerTimeoutError,
    infrastructure_errors,
)
from agentgym_sql.results import Column, ForeignKey, Result, StatementError, Table
from agentgym_sql.session import Session

SERVICE_S = 60.0
"""Seconds for opening, saving, reading the schema or hashing."""

OVERGROWN = "The database has grown over its size limit, and takes no more statements."
CRASHED = "The statement crashed the database engine. Nothing was changed."
_CLOSED = "The session is closed."


class WorkerSession(Session):
    """Runs statements in a worker, and builds the view again where one had to be killed.

    Args:
        pool: Where workers come from.
        pristine: Hashes of databases as they are when opened, shared by a backend's sessions.
        content: The key of this session's database in `pristine`.
        grace_s: Seconds beyond a statement's limit until its worker is killed.
    """

    def __init__(
        self,
        pool: WorkerPool,
        pristine: MutableMapping[Hashable, str],
        content: Hashable,
        grace_s: float,
    ) -> None:
        self._pool = pool
        self._pristine = pristine
        self._content = content
        self._grace_s = grace_s
        self._lock = asyncio.Lock()
        self._worker: Worker | None = None
        self._statements = 0
        self._changed = False
        self._hash: str | None = None
        self._ended: str | None = None
        self._overgrown = False

    @abstractmethod
    async def _build(self, worker: Worker) -> None:
        """Make the view in a fresh worker, in the state the episode has reached."""

    @abstractmethod
    def _note(self, arguments: list[wire.Json]) -> None:
        """Take note of a statement that may have written."""

    async def _outgrew(self) -> bool:
        """Return whether more was written than an episode may; for engines without a limit."""
        return False

    @abstractmethod
    async def _release(self) -> None:
        """Give up what the session holds beyond its worker."""

    async def start(self) -> None:
        """Open the view; called by the backend.

        Raises:
            UsageError: The database cannot be used.
            EnvironmentLostError: It died.
        """
        async with self._lock:
            await self._ready()

    async def execute(self, sql: str, *, timeout_s: float, max_rows: int, max_bytes: int) -> Result:
        """See `Session.execute`."""
        if len(sql) > MAX_STATEMENT:
            raise StatementError("too_big", "The statement itself is larger than allowed.")
        async with self._lock:
            if self._overgrown:
                raise StatementError("too_big", OVERGROWN)
            worker = await self._ready()
            arguments = [sql, self._statements, timeout_s, max_rows, max_bytes]
            self._statements += 1
            reply = await self._run(worker, "execute", arguments, timeout_s)
            status, wrote, *values = reply
            if wrote:
                self._changed = True
                self._hash = None
                self._note(arguments)
                self._overgrown = await self._outgrew()
            if status == "fault":
                raise StatementError(*values)
            columns, rows, truncated, rowcount = values
            return Result(tuple(columns), [tuple(row) for row in rows], truncated, rowcount)

    async def schema(self) -> list[Table]:
        """See `Session.schema`."""
        async with self._lock:
            reply, _ = await self._serve("reading the schema", "tables", SERVICE_S)
        return [
            Table(
                name,
                kind,
                tuple(Column(*column) for column in columns),
                tuple(ForeignKey(tuple(own), table, tuple(its)) for own, table, its in keys),
            )
            for name, kind, columns, keys in reply
        ]

    async def state_hash(self, declared: Collection[str] | None = None) -> str:
        """See `Session.state_hash`."""
        async with self._lock:
            if self._overgrown:  # hashing it would take minutes
                return OVERGROWN
            if declared is not None:
                worker = await self._ready()
                arguments = [SERVICE_S, sorted(declared)]
                return str(await self._run(worker, "hash", arguments, SERVICE_S))
            if self._hash is None and not self._changed:
                self._hash = self._pristine.get(self._content)
            if self._hash is None:
                reply, _ = await self._serve("hashing the database", "hash", SERVICE_S, None)
                self._hash = str(reply)
                if not self._changed:
                    self._pristine[self._content] = self._hash
            return self._hash

    async def rest(self) -> None:
        """See `Session.rest`."""
        async with self._lock:
            await self._give_back()

    async def close(self) -> None:
        """See `Session.close`."""
        if self._ended == _CLOSED:
            return
        self._ended = _CLOSED
        await self._give_back()
        await self._release()

    async def _give_back(self) -> None:
        worker, self._worker = self._worker, None
        if worker is None:
            return
        try:
            await worker.call("close", timeout_s=SERVICE_S)
        except (WorkerLostError, WorkerTimeoutError):
            self._pool.drop(worker)
        else:
            self._pool.give_back(worker)

    async def _run(
        self, worker: Worker, operation: str, arguments: list[wire.Json], timeout_s: float
    ) -> wire.Json:
        """Have done what depends on the agent's SQL, so that its failing is the agent's fault."""
        try:
            reply, _ = await worker.call(operation, *arguments, timeout_s=timeout_s + self._grace_s)
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
        worker = await self._ready()
        try:
            with infrastructure_errors(doing):
                return await worker.call(operation, *arguments, timeout_s=SERVICE_S + self._grace_s)
        finally:
            if not worker.alive:
                self._discard()

    async def _ready(self) -> Worker:
        if self._ended == _CLOSED:
            raise ProtocolError(_CLOSED)
        if self._ended is not None:
            raise EnvironmentLostError(self._ended)
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

    def _discard(self) -> None:
        if self._worker is not None:
            self._pool.drop(self._worker)
            self._worker = None
