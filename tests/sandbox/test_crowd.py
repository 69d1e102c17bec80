"""Two hundred sandboxes asked for at once: all served, none failed, the memory within its limit."""

import asyncio

import pytest

from agentgym.sandbox.backends import make_backend
from agentgym.sandbox.base import Sandbox
from agentgym.sandbox.pool import SandboxPool
from agentgym.sandbox.spec import MIB, SandboxSpec
from tests.sandbox.crowd_rig import Memory, guest_pid, require_backend

ASKERS = 200
LIMIT = 2048 * MIB
USED = 24 * MIB
SPEC = SandboxSpec(memory=64 * MIB, disk=4 * MIB)
OTHER = SPEC.model_copy(update={"pids": 99})
HOLD_MEMORY = f"head -c {USED} /dev/zero | tail -c {USED} | wc -c"


@pytest.fixture(params=["bubblewrap", "docker"])
def backend_name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    require_backend(name, request)
    return name


async def test_two_hundred_at_once_are_all_served(backend_name: str) -> None:
    backend = make_backend(backend_name)
    made: dict[Sandbox, Memory] = {}
    reserved: list[int] = []
    measured: list[int] = []

    async def use(number: int) -> str:
        async with pool.lease(OTHER if number % 10 == 0 else SPEC) as sandbox:
            if sandbox not in made:
                made[sandbox] = Memory(await guest_pid(backend_name, sandbox.id))
            holding = asyncio.create_task(sandbox.exec(HOLD_MEMORY))
            reserved.append(pool.state.memory)
            if number % 10 == 0:
                measured.append(sum(memory.taken() for memory in made.values()))
            return (await holding).text.strip()

    try:
        async with SandboxPool(backend, max_sandboxes=ASKERS, max_memory=LIMIT) as pool:
            answers = await asyncio.gather(*map(use, range(ASKERS)))
    finally:
        await backend.close()
    assert answers == [str(USED)] * ASKERS
    assert 20 * SPEC.memory <= max(reserved) <= LIMIT
    assert USED < max(measured) <= LIMIT
