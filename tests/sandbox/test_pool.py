"""The pool's promises one by one; `test_pool_properties` mixes them."""

import asyncio

import pytest

from agentgym.errors import (
    SandboxStartError,
    UsageError,
)
from agentgym.sandbox.admission import Admission
from agentgym.sandbox.base import Sandbox
from agentgym.sandbox.pool import SandboxPool
from agentgym.sandbox.spec import MIB, SandboxSpec
from tests.sandbox.imaginary import ImaginaryBackend, ImaginarySandbox, settle, start_error

SMALL = SandboxSpec(memory=16 * MIB)
OTHER = SandboxSpec(memory=16 * MIB, pids=99)
BIG = SandboxSpec(memory=64 * MIB)


def asking(pool: SandboxPool, spec: SandboxSpec) -> "asyncio.Task[Sandbox]":
    return asyncio.create_task(pool.acquire(spec))


async def test_a_sandbox_that_comes_back_is_reset_and_lent_again() -> None:
    backend = ImaginaryBackend()
    async with SandboxPool(backend) as pool:
        async with pool.lease(SMALL) as first:
            pass
        async with pool.lease(SMALL) as second:
            assert second is first
            assert isinstance(second, ImaginarySandbox)
            assert second.resets == 1
    assert len(backend.started) == 1
    assert not backend.alive


async def test_specs_are_the_same_however_they_are_written() -> None:
    one = SandboxSpec(env={"A": "1", "B": "2"}, files={"/work/a": b"\xff"}, memory=16 * MIB)
    two = SandboxSpec(env={"B": "2", "A": "1"}, files={"/work/a": b"\xff"}, memory=16 * MIB)
    backend = ImaginaryBackend()
    async with SandboxPool(backend) as pool:
        for spec in (one, two):
            async with pool.lease(spec):
                pass
    assert backend.started == [one]


@pytest.mark.parametrize("how", ["not reusable", "lost", "lost while it is reset", "lost idle"])
async def test_what_cannot_be_used_again_is_closed(how: str) -> None:
    backend = ImaginaryBackend("reset")
    async with SandboxPool(backend) as pool:
        first = await pool.acquire(SMALL)
        assert isinstance(first, ImaginarySandbox)
        first.lost = how == "lost"
        pool.release(first, reusable=how != "not reusable")
        await settle()
        first.lost = how == "lost while it is reset"
        for call in list(backend.calls):
            call.end.set_result(None)
        await settle()
        first.lost = True
        second = await pool.acquire(SMALL)
        assert second is not first
        await settle()
        assert backend.alive == {second}


async def test_giving_back_again_what_is_not_lent_does_nothing() -> None:
    backend = ImaginaryBackend("reset")
    async with SandboxPool(backend) as pool:
        sandbox = await pool.acquire(SMALL)
        pool.release(sandbox)
        pool.release(sandbox)
        await settle()
        assert len(backend.calls) == 1
        assert pool.state.leased == 0


async def test_five_hundred_at_once_queue_and_none_fails() -> None:
    backend = ImaginaryBackend()
    most = 0
    async with SandboxPool(backend, max_sandboxes=20, max_memory=10 * 64 * MIB) as pool:

        async def use(number: int) -> int:
            nonlocal most
            async with pool.lease((SMALL, OTHER, BIG)[number % 3]) as sandbox:
                most = max(most, pool.state.memory)
                await asyncio.sleep(0)
                assert sandbox.alive
                return number

        assert sorted(await asyncio.gather(*map(use, range(500)))) == list(range(500))
    assert most <= 10 * 64 * MIB
    assert not backend.alive


async def test_whoever_asks_for_less_does_not_overtake() -> None:
    async with SandboxPool(ImaginaryBackend(), max_memory=64 * MIB) as pool:
        first = await pool.acquire(SMALL)
        big = asking(pool, BIG)
        small = asking(pool, SMALL)
        await settle()
        assert pool.state.waiting == 2
        big.cancel()
        assert (await small).alive
        pool.release(first)


async def test_an_idle_sandbox_of_another_spec_makes_room() -> None:
    backend = ImaginaryBackend()
    async with SandboxPool(backend, max_sandboxes=2) as pool:
        used = [await pool.acquire(spec) for spec in (SMALL, OTHER)]
        for sandbox in used:
            pool.release(sandbox)
        await settle()
        assert pool.state.idle == 2
        got = await pool.acquire(BIG)
        assert backend.alive == {used[1], got}, "the longest unused had to go"


async def test_no_more_than_enough_wait() -> None:
    backend = ImaginaryBackend()
    async with SandboxPool(backend, idle=3) as pool:
        for sandbox in [await pool.acquire(SMALL) for _ in range(5)]:
            pool.release(sandbox)
        await settle()
        assert (pool.state.idle, len(backend.alive)) == (3, 3)


async def test_warm_sandboxes_are_there_and_are_made_up_for() -> None:
    backend = ImaginaryBackend()
    async with SandboxPool(backend, warm=3) as pool:
        await pool.prepare(SMALL)
        assert (pool.state.idle, len(backend.started)) == (3, 3)
        backend.held.add("start")
        await asyncio.gather(*(pool.acquire(SMALL) for _ in range(3)))
        await settle()
        assert (pool.state.idle, pool.state.starting) == (0, 3)


async def test_as_many_are_warm_as_there_is_room_for() -> None:
    async with SandboxPool(ImaginaryBackend(), warm=5, max_sandboxes=2) as pool:
        await pool.prepare(SMALL)
        assert pool.state.idle == 2


async def test_warm_ones_of_several_specs_share_the_room_for_idle_ones() -> None:
    backend = ImaginaryBackend()
    async with SandboxPool(backend, warm=2, idle=3) as pool:
        await pool.prepare(SMALL)
        await pool.prepare(OTHER)
        await settle()
        assert backend.started == [SMALL, SMALL, OTHER]


async def test_a_spec_that_had_to_go_is_kept_warm_when_it_is_asked_for_again() -> None:
    backend = ImaginaryBackend()
    async with SandboxPool(backend, warm=1, max_sandboxes=1) as pool:
        await pool.prepare(SMALL)
        pool.release(await pool.acquire(OTHER), reusable=False)
        await settle()
        assert backend.started == [SMALL, OTHER, OTHER]


async def test_making_up_leaves_room_to_those_who_ask() -> None:
    backend = ImaginaryBackend()
    async with SandboxPool(backend, warm=2, max_sandboxes=2) as pool:
        await pool.prepare(SMALL)
        got = [await pool.acquire(spec) for spec in (OTHER, BIG)]
        assert backend.alive == set(got)


async def test_a_failure_behind_the_scenes_is_told_once_and_not_repeated_in_a_loop() -> None:
    backend = ImaginaryBackend("start")
    async with SandboxPool(backend, warm=1) as pool:
        first = asking(pool, SMALL)
        await settle()
        backend.calls[0].end.set_result(None)
        backend.calls[1].end.set_exception(start_error())
        await first
        await settle()
        assert len(backend.started) == 2
        with pytest.raises(SandboxStartError):
            await pool.acquire(SMALL)
        backend.held.clear()
        assert (await pool.acquire(SMALL)).alive


async def test_preparing_tells_of_a_failure() -> None:
    backend = ImaginaryBackend("start")
    async with SandboxPool(backend, warm=1) as pool:
        preparing = asyncio.create_task(pool.prepare(SMALL))
        await settle()
        backend.calls[0].end.set_exception(start_error())
        with pytest.raises(SandboxStartError):
            await preparing


async def test_a_defect_while_resetting_is_told_to_the_next() -> None:
    backend = ImaginaryBackend("reset")
    async with SandboxPool(backend) as pool:
        pool.release(await pool.acquire(SMALL))
        await settle()
        backend.calls[0].end.set_exception(ZeroDivisionError("a defect"))
        await settle()
        with pytest.raises(ZeroDivisionError):
            await pool.acquire(SMALL)
        assert not backend.alive


async def test_a_cancelled_waiter_leaves_the_queue_and_gives_back_what_it_was_served() -> None:
    async with SandboxPool(ImaginaryBackend(), max_sandboxes=1) as pool:
        held = await pool.acquire(SMALL)
        waiting = [asking(pool, SMALL) for _ in range(3)]
        await settle()
        waiting[0].cancel()
        pool.release(held)
        for _ in range(20):
            if pool.state.waiting == 2:
                await asyncio.sleep(0)
        assert not waiting[1].done()
        waiting[1].cancel()  # it has been served, and its task has not run since
        assert await waiting[2] is held
        assert (pool.state.leased, pool.state.idle) == (1, 0)


@pytest.mark.parametrize("turns", range(6))
async def test_a_waiter_may_leave_while_it_is_being_served(turns: int) -> None:
    backend = ImaginaryBackend("start")
    async with SandboxPool(backend, max_sandboxes=1) as pool:
        waiting = [asking(pool, SMALL) for _ in range(2)]
        await settle()
        backend.calls[0].end.set_result(None)
        for _ in range(turns):
            await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.wait(waiting[:1])
        if not waiting[0].cancelled():
            pool.release(waiting[0].result())
        assert (await waiting[1]).alive
        assert len(backend.started) == 1


async def test_a_failure_does_not_wait_for_those_before_it() -> None:
    backend = ImaginaryBackend("reset")
    async with SandboxPool(backend, max_sandboxes=2) as pool:
        lent = await pool.acquire(OTHER)
        pool.release(lent)
        backend.held |= {"start", "close"}
        before, failing = asking(pool, OTHER), asking(pool, SMALL)
        await settle()
        assert isinstance(lent, ImaginarySandbox)
        lent.lost = True
        backend.calls[0].end.set_result(None)
        await settle()
        backend.calls[0].end.set_exception(start_error())
        with pytest.raises(SandboxStartError):
            await failing
        assert not before.done()
        backend.held.clear()
        backend.calls[0].end.set_result(None)
        await settle()
        assert not before.done()
        backend.calls[0].end.set_result(None)
        assert (await before).alive


async def test_what_never_fits_is_refused_at_once() -> None:
    async with SandboxPool(ImaginaryBackend(), max_memory=32 * MIB) as pool:
        with pytest.raises(UsageError, match="64 MiB of memory never fits into the 32 MiB"):
            await pool.acquire(BIG)


async def test_a_host_short_of_memory_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    free = [1 << 50]
    backend = ImaginaryBackend()
    async with SandboxPool(backend, admission=Admission(available=lambda: free[0])) as pool:
        pool.release(await pool.acquire(OTHER))
        await settle()
        free[0] = 0
        waiting = [asking(pool, SMALL) for _ in range(3)]
        await settle()
        assert not backend.alive, "what is idle gives its memory back"
        assert caplog.text.count("waits until the machine has memory") == 1
        free[0] = 1 << 50
        assert len(set(await asyncio.gather(*waiting))) == 3


async def test_more_warm_than_may_be_idle_is_refused() -> None:
    with pytest.raises(UsageError, match="5 warm"):
        SandboxPool(ImaginaryBackend(), warm=5, idle=4)
