"""Every check that needs no isolation holds on plain processes."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from agentgym.sandbox.check import Check, Checker
from tests.sandbox.check_rig import assert_kept, checker_of, checks_of

pytestmark = pytest.mark.filterwarnings("ignore::agentgym.sandbox.process.UnisolatedSandboxWarning")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def checker() -> AsyncIterator[Checker]:
    async with checker_of("process") as found:
        yield found


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("item", checks_of("process"))
async def test_process_keeps_the_promise(item: Check, checker: Checker) -> None:
    assert_kept(await checker.run(item))
