"""Every check of the self-check suite holds on bubblewrap; those of several users are not its."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from agentgym.sandbox.check import Check, Checker
from tests.sandbox.check_rig import assert_kept, checker_of, checks_of


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def checker() -> AsyncIterator[Checker]:
    async with checker_of("bubblewrap") as found:
        yield found


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("item", checks_of("bubblewrap"))
async def test_bubblewrap_keeps_the_promise(item: Check, checker: Checker) -> None:
    assert_kept(await checker.run(item))
