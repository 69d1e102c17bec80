"""The sandboxes of a pool: made, reset and closed in the background, the idle ones kept in order.

Every sandbox is counted by the pool's `Admission` from before its start until it is gone.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from agentgym.errors import AgentgymError, SandboxStartError
from agentgym.sandbox.admission import Admission
from agentgym.sandbox.base import Sandbox, SandboxBackend
from agentgym.sandbox.spec import SandboxSpec

ResultT = TypeVar("ResultT")


class Group:
    """The sandboxes of one spec.

    Attributes:
        memory: Bytes that each takes.
        coming: How many are being started or reset, to be idle soon.
    """

    def __init__(self, spec: SandboxSpec, memory: int) -> None:
        self.spec = spec
        self.memory = memory
        self.coming = 0


class Stock:
    """What there is of sandboxes, for one event loop.

    Args:
        backend: Makes them.
        admission: Counts them.
        changed: Called when one has come or gone.
        failed: Called when a start failed, with what it raised; `changed` is called after it.

    Attributes:
        idle: Ready to be lent, the longest unused first.
        leased: Lent.
    """

    def __init__(
        self,
        backend: SandboxBackend,
        admission: Admission,
        *,
        changed: Callable[[], None],
        failed: Callable[[Group, BaseException], None],
    ) -> None:
        self.idle: dict[Sandbox, Group] = {}
        self.leased: set[Sandbox] = set()
        self._complaint: Exception | None = None
        self._backend = backend
        self._admission = admission
        self._changed = changed
        self._failed = failed
        self._groups: WeakValueDictionary[SandboxSpec, Group] = WeakValueDictionary()
        self._made: dict[Sandbox, Group] = {}
        self._work: set[asyncio.Task[Any]] = set()
        self._closings: set[asyncio.Task[None]] = set()

    @property
    def closing(self) -> bool:
        """Whether one is being closed."""
        return bool(self._closings)

    def group(self, spec: SandboxSpec) -> Group:
        """Return the group of a spec.

        Raises:
            UsageError: Not even one of it can ever be had.
        """
        group = self._groups.get(spec)
        if group is None:
            group = Group(spec, spec.memory + self._backend.overhead)
            self._admission.require(group.memory)
            self._groups[spec] = group
        return group

    def take(self, group: Group) -> Sandbox | None:
        """Lend the idle sandbox of a group that was used last, or none where there is none."""
        for sandbox in [s for s, other in reversed(self.idle.items()) if other is group]:
            del self.idle[sandbox]
            if sandbox.alive:
                self.leased.add(sandbox)
                return sandbox
            self._discard(sandbox)
        return None

    def put(self, sandbox: Sandbox) -> None:
        """Let a sandbox that is as new be idle."""
        self.leased.discard(sandbox)
        if sandbox in self._made:  # otherwise it has ended with the pool
            self.idle[sandbox] = self._made[sandbox]

    def give_back(self, sandbox: Sandbox, *, reusable: bool) -> None:
        """Reset a lent sandbox, or close it."""
        self.leased.discard(sandbox)
        if reusable and sandbox.alive:
            self._made[sandbox].coming += 1
            self._begin(_as_new(sandbox), partial(self._was_reset, sandbox))
        else:
            self._discard(sandbox)

    def start(self, group: Group) -> None:
        """Start a sandbox."""
        group.coming += 1
        self._admission.begin(group.memory)
        self._begin(self._backend.start(group.spec), partial(self._was_started, group))

    def evict(self) -> Group | None:
        """Close the sandbox that has been idle longest, and return its group."""
        for sandbox, group in self.idle.items():
            del self.idle[sandbox]
            self._discard(sandbox)
            return group
        return None

    async def end(self) -> None:
        """Stop all work and close every sandbox.

        Raises:
            Exception: What closing one raised, the first of the pool's whole life.
        """
        for task in self._work:
            task.cancel()
        while tasks := [*self._work, *self._closings]:
            await asyncio.wait(tasks)
        left = list(self._made)
        self.leased.clear()
        self.idle.clear()
        self._made.clear()
        closed = [sandbox.close() for sandbox in left]
        self._complain(await asyncio.gather(*closed, return_exceptions=True))
        if self._complaint is not None:
            raise self._complaint

    def _begin(
        self, work: Coroutine[Any, Any, ResultT], done: Callable[[asyncio.Task[ResultT]], None]
    ) -> None:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(done)

    def _was_started(self, group: Group, task: asyncio.Task[Sandbox]) -> None:
        self._work.discard(task)
        self._admission.started()
        group.coming -= 1
        error = _error(task)
        if error is None:
            self._made[task.result()] = group
            self._arrive(task.result())
        else:
            self._admission.gone(group.memory, left=False)
            self._failed(group, error)
            self._changed()

    def _was_reset(self, sandbox: Sandbox, task: asyncio.Task[bool]) -> None:
        self._work.discard(task)
        group = self._made[sandbox]
        group.coming -= 1
        error = _error(task)
        if error is None and task.result():
            self._arrive(sandbox)
            return
        self._discard(sandbox)
        if error is not None:
            self._failed(group, error)
        self._changed()

    def _arrive(self, sandbox: Sandbox) -> None:
        self.put(sandbox)
        self._changed()

    def _discard(self, sandbox: Sandbox) -> None:
        self._admission.leave(self._made[sandbox].memory)
        task = asyncio.create_task(sandbox.close())
        self._closings.add(task)
        task.add_done_callback(partial(self._was_closed, sandbox))

    def _was_closed(self, sandbox: Sandbox, task: asyncio.Task[None]) -> None:
        self._closings.discard(task)
        if task.cancelled():  # its loop ends, and `end` closes it
            return
        self._complain([task.exception()])
        self._admission.gone(self._made.pop(sandbox).memory)
        self._changed()

    def _complain(self, results: Sequence[BaseException | None]) -> None:
        errors = (result for result in results if isinstance(result, Exception))
        self._complaint = self._complaint or next(errors, None)


async def _as_new(sandbox: Sandbox) -> bool:
    """Reset a sandbox and return whether it can be lent again."""
    try:
        await sandbox.reset()
    except (AgentgymError, OSError):
        return False
    return sandbox.alive


def _error(task: asyncio.Task[Any]) -> BaseException | None:
    if task.cancelled():
        return SandboxStartError("The work on a sandbox was cancelled.")
    return task.exception()
