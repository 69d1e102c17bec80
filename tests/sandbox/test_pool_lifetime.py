"""How a pool begins and how it ends: by itself, with its loop, one for all who share it."""

import asyncio
import threading

import pytest

from agentgym.errors import (
    ProtocolError,
    SandboxLostError,
    SandboxUnavailableError,
    UsageError,
)
from agentgym.sandbox.base import Sandbox
from agentgym.sandbox.pool import SandboxPool
from agentgym.sandbox.shared import Limits, SharedPool
from agentgym.sandbox.spec import MIB, SandboxSpec
from tests.sandbox.imaginary import ImaginaryBackend, settle

SMALL = SandboxSpec(memory=16 * MIB)

pytestmark = pytest.mark.filterwarnings("ignore::agentgym.sandbox.process.UnisolatedSandboxWarning")


def asking(pool: SandboxPool, spec: SandboxSpec) -> "asyncio.Task[Sandbox]":
    return asyncio.create_task(pool.acquire(spec))


async def test_the_first_use_reaps_once() -> None:
    backend = ImaginaryBackend("reap")
    pool = SandboxPool(backend)
    asked = [asking(pool, SMALL) for _ in range(3)]
    await settle()
    asked[0].cancel()
    await settle()
    assert not backend.started
    backend.calls[0].end.set_result(None)
    await asyncio.gather(*asked[1:])
    await pool.close()
    assert backend.reaped == 1


async def test_what_is_missing_is_told_to_each_until_it_is_there() -> None:
    class Missing(ImaginaryBackend):
        there = False

        async def check_available(self) -> None:
            if not self.there:
                raise SandboxUnavailableError("It is not here.", remedy="Get it.")

    backend = Missing()
    pool = SandboxPool(backend)
    for result in await asyncio.gather(*map(pool.acquire, [SMALL] * 3), return_exceptions=True):
        assert isinstance(result, SandboxUnavailableError)
    assert pool.state.waiting == 0
    backend.there = True
    await pool.acquire(SMALL)
    await pool.close()


async def test_closing_ends_everything_and_refuses_everybody() -> None:
    backend = ImaginaryBackend("start", "reset")
    pool = SandboxPool(backend, max_sandboxes=3, owns_backend=True)
    first = asking(pool, SMALL)
    await settle()
    backend.calls[0].end.set_result(None)
    lent = await first
    waiting = [asking(pool, SMALL) for _ in range(3)]
    await settle()
    assert (pool.state.starting, pool.state.waiting) == (2, 3)
    await pool.close()
    for task in waiting:
        with pytest.raises(ProtocolError, match="closed"):
            await task
    assert not backend.alive
    assert not backend.calls
    assert backend.closed == 1
    pool.release(lent)
    with pytest.raises(ProtocolError, match="closed"):
        await pool.acquire(SMALL)
    await pool.close()


async def test_a_sandbox_that_cannot_be_removed_is_told_of_at_the_end() -> None:
    backend = ImaginaryBackend("close")
    pool = SandboxPool(backend, owns_backend=True)
    pool.release(await pool.acquire(SMALL), reusable=False)
    await settle()
    backend.held.clear()
    backend.calls[0].end.set_exception(SandboxLostError("It cannot be removed."))
    with pytest.raises(SandboxLostError):
        await pool.close()
    assert backend.closed == 1


@pytest.mark.parametrize("opened", [True, False])
def test_a_loop_that_just_ends_takes_everything_with_it(opened: bool) -> None:
    backend = ImaginaryBackend() if opened else ImaginaryBackend("reap")
    pools = []

    async def leave_it() -> None:
        pool = SandboxPool(backend, warm=2)
        pools.append(pool)
        asked = [asking(pool, SMALL) for _ in range(2)]
        await settle()
        if opened:
            pool.release(await asked[0])

    asyncio.run(leave_it())
    assert not backend.alive
    assert not backend.calls
    assert pools[0].closed or not opened


def test_a_pool_belongs_to_one_loop() -> None:
    async def make() -> SandboxPool:
        return SandboxPool(ImaginaryBackend())

    pool = asyncio.run(make())
    with pytest.raises(ProtocolError, match="another event loop"):
        asyncio.run(pool.acquire(SMALL))


def test_loops_in_several_threads_have_pools_of_their_own() -> None:
    served = []

    async def use() -> None:
        async with SandboxPool(ImaginaryBackend()) as pool:
            for _ in range(50):
                async with pool.lease(SMALL):
                    await asyncio.sleep(0)
            served.append(pool)

    threads = [threading.Thread(target=asyncio.run, args=(use(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(served) == 4


async def test_those_who_share_a_pool_have_the_same_until_the_last_leaves() -> None:
    first, second = SharedPool("process"), SharedPool("process", warm=1)
    assert first.pool is second.pool
    assert first.pool.warm == 1
    async with first.pool.lease(SMALL) as sandbox:
        await first.close()
        await first.close()
        assert sandbox.alive
    await second.close()
    assert second.pool.closed
    assert [left.alive for left in (sandbox,)] == [False]
    async with SharedPool("process") as pool:
        assert pool is not second.pool
        async with pool.lease(SMALL) as other:
            assert (await other.exec(["echo", "there"])).text == "there\n"


def test_each_loop_shares_a_pool_of_its_own_and_forgets_it_at_its_end() -> None:
    lent: list[Sandbox] = []
    pools: list[SandboxPool] = []

    async def use(*, leave: bool) -> None:
        shared = SharedPool("process")
        pools.append(shared.pool)
        lent.append(await shared.pool.acquire(SMALL))
        if not leave:
            await shared.close()

    threads = [
        threading.Thread(target=lambda leave: asyncio.run(use(leave=leave)), args=(leave,))
        for leave in (False, True, True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(pools)) == 3
    assert all(pool.closed for pool in pools)
    assert not any(sandbox.alive for sandbox in lent)


async def test_a_claim_outlives_the_loop_it_was_made_in() -> None:
    async def claim() -> SharedPool:
        shared = SharedPool("process")
        await shared.pool.open()
        return shared

    shared = await asyncio.to_thread(lambda: asyncio.run(claim()))
    assert shared.pool.closed
    await shared.close()


def test_limits_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Limits.from_environ() == (None, None)
    monkeypatch.setenv("AGENTGYM_SANDBOXES", "7")
    for text, size in (("3g", 3 << 30), ("500M", 500 << 20), ("123", 123)):
        monkeypatch.setenv("AGENTGYM_SANDBOX_MEMORY", text)
        assert Limits.from_environ() == (7, size)
    for text in ("much", "-1", "0", "1.5G"):
        monkeypatch.setenv("AGENTGYM_SANDBOX_MEMORY", text)
        with pytest.raises(UsageError, match=f"AGENTGYM_SANDBOX_MEMORY is '{text}'"):
            Limits.from_environ()
