"""A backend that is only bookkeeping: its calls end when, and how, a test says."""

import asyncio
from builtins import list as list_of
from typing import Any, NamedTuple

from agentgym.errors import SandboxLostError, SandboxStartError
from agentgym.sandbox.base import (
    Process,
    Sandbox,
    SandboxBackend,
    SandboxInfo,
    SandboxSnapshot,
)
from agentgym.sandbox.spec import SandboxSpec


class Call(NamedTuple):
    """A call of the backend that has not ended yet."""

    what: str
    spec: SandboxSpec
    sandbox: "ImaginarySandbox | None"
    end: "asyncio.Future[None]"


class ImaginaryBackend(SandboxBackend):
    """Makes sandboxes that do nothing.

    Args:
        held: The calls that wait for the test: of "start", "reset", "close", "reap".

    Attributes:
        calls: Those that are waiting, the oldest first.
        started: The specs of all starts, in their order.
        alive: The sandboxes that have not been closed.
    """

    name = "imaginary"

    def __init__(self, *held: str) -> None:
        self.held = set(held)
        self.calls: list[Call] = []
        self.started: list[SandboxSpec] = []
        self.alive: set[ImaginarySandbox] = set()
        self.reaped = self.closed = 0

    async def hold(self, what: str, spec: SandboxSpec, who: "ImaginarySandbox | None") -> None:
        if what in self.held:
            call = Call(what, spec, who, asyncio.get_running_loop().create_future())
            self.calls.append(call)
            try:
                await call.end
            finally:
                self.calls.remove(call)

    async def check_available(self) -> None:
        return None

    async def start(self, spec: SandboxSpec) -> Sandbox:
        self.started.append(spec)
        identity = f"sandbox-{len(self.started)}"
        await self.hold("start", spec, None)
        sandbox = ImaginarySandbox(self, spec, identity)
        self.alive.add(sandbox)
        return sandbox

    async def list(self) -> list_of[SandboxInfo]:
        return []

    async def reap(self) -> list_of[SandboxInfo]:
        self.reaped += 1
        await self.hold("reap", SandboxSpec(), None)
        return []

    async def close(self) -> None:
        self.closed += 1


class ImaginarySandbox(Sandbox):
    """Counts its resets."""

    def __init__(self, backend: ImaginaryBackend, spec: SandboxSpec, identity: str) -> None:
        self.spec, self.id = spec, identity
        self.resets = 0
        self.lost = False
        self._backend = backend

    @property
    def alive(self) -> bool:
        return not self.lost and self in self._backend.alive

    async def reset(self) -> None:
        await self._backend.hold("reset", self.spec, self)
        if not self.alive:
            raise SandboxLostError("The sandbox ended.")
        self.resets += 1

    async def close(self) -> None:
        await self._backend.hold("close", self.spec, self)
        self._backend.alive.discard(self)

    async def _nothing(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def start(self, *args: Any, **kwargs: Any) -> Process:
        raise NotImplementedError

    def shell(self, **kwargs: Any) -> Any:
        raise NotImplementedError

    read_file = write_file = list_dir = stat = make_dir = remove = _nothing
    upload = download = kill_all = restore = _nothing

    async def snapshot(self) -> SandboxSnapshot:
        raise NotImplementedError

    async def fork(self) -> Sandbox:
        raise NotImplementedError


def start_error() -> SandboxStartError:
    return SandboxStartError("It could not be made.")


async def settle() -> None:
    """Let everything that can go on go on, until all of it waits for the test."""
    for _ in range(20):
        await asyncio.sleep(0)
