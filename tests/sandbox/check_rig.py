"""Holding a backend to the self-check suite, one check a test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from _pytest.mark import ParameterSet

from agentgym.errors import SandboxUnavailableError
from agentgym.sandbox import SandboxBackend
from agentgym.sandbox.backends import backend_type, make_backend
from agentgym.sandbox.check import CHECKS, Checker, CheckResult
from tests.servers import require


def checks_of(backend: str) -> list[ParameterSet]:
    """The checks that a backend's declarations hold it to; those that mostly wait are slow."""
    found = backend_type(backend)
    kept = [c for c in CHECKS if not c.inapplicable(isolated=found.isolated, users=found.users)]
    assert len(kept) >= 60
    slow = pytest.mark.slow
    return [pytest.param(c, id=c.name, marks=[slow] if c.aside else []) for c in kept]


@asynccontextmanager
async def backend_of(name: str) -> AsyncIterator[SandboxBackend]:
    backend = make_backend(name)
    try:
        try:
            await backend.check_available()
        except SandboxUnavailableError as error:
            require(False, str(error))
        yield backend
    finally:
        await backend.close()


@asynccontextmanager
async def checker_of(name: str) -> AsyncIterator[Checker]:
    async with backend_of(name) as backend, Checker(backend) as checker:
        yield checker


def assert_kept(result: CheckResult) -> None:
    require(result.status != "not applicable", result.detail)
    assert result.status == "passed", f"{result.promise} {result.detail}"
