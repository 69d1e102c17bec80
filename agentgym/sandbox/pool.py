"""Sandboxes on loan: first come first served, reset in place, some of each kind kept warm."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import NamedTuple, Self

from agentgym.errors import ProtocolError, UsageError
from agentgym.sandbox.admission import STARTS, Admission
from agentgym.sandbox.base import Sandbox, SandboxBackend
from agentgym.sandbox.spec import MIB, SandboxSpec
from agentgym.sandbox.stock import Group, Stock

log = logging.getLogger("agentgym")

MOST_IDLE = 32
_LOOK_AGAIN_S = 0.25


class PoolState(NamedTuple):
    """How many there are of each; `memory` is what all sandboxes may take together, in bytes."""

    waiting: int
    starting: int
    leased: int
    idle: int
    sandboxes: int
    memory: int


class _Asker(NamedTuple):
    group: Group
    served: asyncio.Future[Sandbox]


class SandboxPool:
    """Lends sandboxes, in the event loop it is made in.

    Askers queue and none is turned away: whoever asked first is served first, also where a
    later one asks for less. At its first use the pool removes what dead processes have left.
    It ends with `close` or with its loop, and all of its sandboxes with it, lent ones too.

    Who holds a sandbox and asks for a second may wait for itself: give the first back before.

    Args:
        backend: Makes the sandboxes.
        warm: Sandboxes kept ready of each spec that is asked for, where there is room.
        idle: Sandboxes of all specs together that wait at most; the longest unused is closed.
        max_sandboxes: See `Admission`.
        max_memory: See `Admission`.
        starts: See `Admission`.
        admission: Instead of one made from the three arguments before.
        owns_backend: Whether the backend is closed with the pool.

    Attributes:
        warm: May be changed at any time.
    """

    def __init__(
        self,
        backend: SandboxBackend,
        *,
        warm: int = 0,
        idle: int = MOST_IDLE,
        max_sandboxes: int | None = None,
        max_memory: int | None = None,
        starts: int = STARTS,
        admission: Admission | None = None,
        owns_backend: bool = False,
    ) -> None:
        if not 0 <= warm <= idle:
            raise UsageError(f"{warm} warm sandboxes of at most {idle} idle ones cannot be kept.")
        self.backend = backend
        self._loop = asyncio.get_running_loop()
        self.warm = warm
        self._most_idle = idle
        self._owns_backend = owns_backend
        self._admission = admission or Admission(
            max_memory=max_memory, max_sandboxes=max_sandboxes, starts=starts
        )
        self._stock = Stock(
            backend,
            self._admission,
            changed=self._pump,
            failed=self._failed,
        )
        self._askers: list[_Asker] = []
        self._kept_warm: dict[Group, None] = {}
        self._failures: dict[Group, BaseException] = {}
        self._changed = asyncio.Event()
        self._ended = asyncio.Event()
        self._opening: asyncio.Task[None] | None = None
        self._life: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def closed(self) -> bool:
        """Whether it has ended, by `close` or with its event loop."""
        return self._ended.is_set()

    @property
    def state(self) -> PoolState:
        """What there is at this moment."""
        return PoolState(
            waiting=sum(not asker.served.done() for asker in self._askers),
            starting=self._admission.starting,
            leased=len(self._stock.leased),
            idle=len(self._stock.idle),
            sandboxes=self._admission.sandboxes,
            memory=self._admission.memory,
        )

    async def open(self) -> None:
        """Check the backend and reap; the first `acquire` does it otherwise.

        Raises:
            SandboxUnavailableError: Sandboxes cannot be made here.
            ProtocolError: The pool is closed, or of another event loop.
        """
        if self.closed:
            raise ProtocolError("This sandbox pool is closed.", remedy="Make another one.")
        if self._loop is not asyncio.get_running_loop():
            raise ProtocolError("This sandbox pool is of another event loop.")
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
            self._opening.add_done_callback(self._opened)
        await asyncio.shield(self._opening)

    async def acquire(self, spec: SandboxSpec) -> Sandbox:
        """Return a sandbox that nobody has used, or that was reset since; `release` it.

        Raises:
            SandboxUnavailableError: Sandboxes cannot be made here.
            SandboxStartError: This one, or a warm one meant for this spec, could not be made.
            UsageError: The spec asks for more than there can ever be.
            ProtocolError: The pool is closed, or of another event loop.
        """
        group = self._stock.group(spec)
        asker = _Asker(group, asyncio.get_running_loop().create_future())
        self._askers.append(asker)
        try:
            await self.open()
            if self.warm:
                self._kept_warm[group] = None
            self._pump()
            return await asker.served
        except BaseException:
            self._withdraw(asker)
            raise

    @asynccontextmanager
    async def lease(self, spec: SandboxSpec) -> AsyncIterator[Sandbox]:
        """Lend a sandbox for a block; see `acquire`."""
        sandbox = await self.acquire(spec)
        try:
            yield sandbox
        finally:
            self.release(sandbox)

    def release(self, sandbox: Sandbox, *, reusable: bool = True) -> None:
        """Give a sandbox back, once; it is reset or closed in the background.

        Args:
            sandbox: From `acquire`; not used from now on.
            reusable: Whether resetting it is enough for whoever comes next.
        """
        if not self.closed and sandbox in self._stock.leased:
            self._stock.give_back(sandbox, reusable=reusable)
            self._pump()

    async def prepare(self, spec: SandboxSpec) -> None:
        """Wait until the warm sandboxes of a spec are there, or as many as there is room for.

        Raises:
            SandboxUnavailableError: Sandboxes cannot be made here.
            SandboxStartError: One could not be made.
            UsageError: The spec asks for more than there can ever be.
            ProtocolError: The pool is closed, or of another event loop.
        """
        group = self._stock.group(spec)
        await self.open()
        self._kept_warm[group] = None
        self._pump()
        while group not in self._failures and self._idle_of(group) < self.warm:
            if not group.coming and self._admission.can_start:
                return
            await self._changed.wait()
            await self.open()
        if (failure := self._failures.pop(group, None)) is not None:
            raise failure

    async def close(self) -> None:
        """Close every sandbox, lent ones too; closing twice is allowed.

        Raises:
            AgentgymError: A sandbox could not be removed.
        """
        self._ended.set()
        if self._opening is not None and not self._opening.done():
            await asyncio.wait([self._opening])
        if self._life is not None:
            if not self._life.done():
                await asyncio.wait([self._life])
            if not self._life.cancelled():
                self._life.result()

    async def __aenter__(self) -> Self:
        """Open the pool."""
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.close()

    # Its life: opened, then kept until somebody closes it or its loop ends.

    async def _open(self) -> None:
        await self.backend.check_available()
        await self.backend.reap()
        self._life = asyncio.create_task(self._live())

    def _opened(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or task.exception() is not None:
            self._opening = None  # for the next asker to try

    async def _live(self) -> None:
        # A loop that ends cancels this task and still runs it to its end.
        try:
            await self._ended.wait()
        finally:
            self._ended.set()
            await self._shut_down()

    async def _shut_down(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for asker in self._askers:
            if not asker.served.done():
                asker.served.set_exception(ProtocolError("The sandbox pool was closed."))
        self._changed.set()
        try:
            await self._stock.end()
        finally:
            if self._owns_backend:
                await self.backend.close()

    # The queue.

    def _pump(self) -> None:
        """Serve whoever can be served, up to the first asker who has to wait for room."""
        if self._life is None or self.closed:
            return
        covered: Counter[Group] = Counter()  # askers for whom a sandbox is coming
        for asker in list(self._askers):
            if asker.served.done():  # cancelled, and its task does not know yet
                continue
            group = asker.group
            if (sandbox := self._stock.take(group)) is not None:
                self._askers.remove(asker)
                asker.served.set_result(sandbox)
            elif covered[group] < group.coming:
                covered[group] += 1
            elif (failure := self._failures.pop(group, None)) is not None:
                self._askers.remove(asker)
                asker.served.set_exception(failure)
            elif self._start(group, make_room=True):
                covered[group] += 1
            else:
                break
        else:
            self._refill(covered)
        while len(self._stock.idle) > self._most_idle:
            self._evict()
        self._changed.set()
        self._changed.clear()

    def _start(self, group: Group, *, make_room: bool) -> bool:
        """Start a sandbox where the limits and the host allow it; idle ones may have to go."""
        if not self._admission.can_start:
            return False
        if not self._admission.fits(group.memory):
            while make_room and not self._admission.fits(group.memory, soon=True):
                if not self._evict():
                    break
            return False
        if not self._admission.host_has(group.memory):
            if make_room:
                self._look_again(group)
            return False
        self._stock.start(group)
        return True

    def _evict(self) -> bool:
        """Close the sandbox that has been idle longest; False where none is idle."""
        group = self._stock.evict()
        if group is not None:
            self._kept_warm.pop(group, None)  # until somebody asks for it again
        return group is not None

    def _look_again(self, group: Group) -> None:
        """Come back when the host may have memory to spare; an idle sandbox gives some back."""
        if not self._stock.closing:
            self._evict()
        if self._timer is None:
            log.warning(
                "a sandbox of %d MiB waits until the machine has memory to spare",
                group.memory // MIB,
            )
        else:
            self._timer.cancel()
        self._timer = self._loop.call_later(_LOOK_AGAIN_S, self._pump)

    def _refill(self, covered: Counter[Group]) -> None:
        room = self._most_idle - len(self._stock.idle)
        room -= sum(group.coming - covered[group] for group in self._kept_warm)
        for group in self._kept_warm:
            lacking = self.warm - self._idle_of(group) - group.coming + covered[group]
            for _ in range(min(lacking, room)):
                if group in self._failures or not self._start(group, make_room=False):
                    break
                room -= 1

    def _idle_of(self, group: Group) -> int:
        return sum(other is group for other in self._stock.idle.values())

    def _failed(self, group: Group, error: BaseException) -> None:
        """Give a failure to the asker whom the sandbox was for, or keep it for the next."""
        askers = [a for a in self._askers if a.group is group and not a.served.done()]
        if len(askers) > group.coming:
            self._askers.remove(askers[group.coming])
            askers[group.coming].served.set_exception(error)
        else:
            self._failures[group] = error

    def _withdraw(self, asker: _Asker) -> None:
        """Take back an asker who is not there any more, with what it was served meanwhile."""
        if asker in self._askers:
            self._askers.remove(asker)
        served = asker.served
        if served.done() and not served.cancelled() and served.exception() is None:
            self._stock.put(served.result())
        self._pump()
