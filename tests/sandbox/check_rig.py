"""Holding a backend to the self-check suite, one check a test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agentgym.errors import SandboxUnavailableError
from agentgym.sandbox.backends import backend_type, make_backend
from agentgym.sandbox.check import CHECKS, Check, Checker, CheckResult
from tests.servers import require


def checks_of(backend: str) -> list[Check]:
    """The checks that a backend's declarations hold it to."""
    found = backend_type(backend)
    kept = [c for c in CHECKS if not c.inapplicable(isolated=found.isolated, users=found.users)]
    assert len(kept) >= 60
    return kept


def named(item: Check) -> str:
    return item.name


@asynccontextmanager
async def checker_of(name: str) -> AsyncIterator[Checker]:
    backend = make_backend(name)
    try:
        try:
            await backend.check_available()
        except SandboxUnavailableError as error:
            require(False, str(error))
        async with Checker(backend) as checker:
            yield checker
    finally:
        await backend.close()


def assert_kept(result: CheckResult) -> None:
    require(result.status != "not applicable", result.detail)
    assert result.status == "passed", f"{result.promise} {result.detail}"
